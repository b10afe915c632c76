#include "bench/switch/switch_report.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "bench/support/cost.h"

namespace pex::bench {
namespace {

/// A bare run across two cgroups that takes so many times what one within a cgroup takes has some
/// other program's events of cgroups in it.
constexpr double kDisturbed = 1.3;

void print_half(const Comparison& cost) {
  std::printf(" %7.0f %6.0f %5.2f %4.2f-%4.2f", cost.ns, cost.added_ns, cost.ratio, cost.low_ratio,
              cost.high_ratio);
}

void print_line(const Variant& variant, const std::vector<Sample>& samples,
                const std::vector<Sample>& bare) {
  const Choice& choice = variant.choice;
  std::printf("%-27s %6zu %7zu %9zu %11zu", title_of(choice).c_str(), choice.events, choice.cgroups,
              choice.ancestors, variant.descriptors);
  for (const Partner partner : kPartners) print_half(compare(samples, bare, partner));
  std::printf("\n");
}

/// The samples of a choice; null if it was not measured.
const std::vector<Sample>* samples_of(const Measured& measured, const Choice& choice) {
  for (std::size_t number = 0; number < measured.variants.size(); ++number) {
    if (measured.variants[number].choice == choice) return &measured.samples[number];
  }
  return nullptr;
}

std::vector<double> added(const Measured& measured, const std::vector<Sample>& samples) {
  std::vector<double> all;
  for (std::size_t round = 0; round < samples.size(); ++round) {
    all.push_back(samples[round].back() - measured.samples.front()[round].back());
  }
  return all;
}

/// Median over the rounds of the ratio of what both add to a switch across two cgroups.
std::optional<double> added_ratio(const Measured& measured, const Choice& one,
                                  const Choice& other) {
  const std::vector<Sample>* const ours = samples_of(measured, one);
  const std::vector<Sample>* const theirs = samples_of(measured, other);
  if (ours == nullptr || theirs == nullptr) return std::nullopt;
  std::vector<double> ratios = added(measured, *ours);
  const std::vector<double> divisors = added(measured, *theirs);
  for (std::size_t round = 0; round < ratios.size(); ++round) ratios[round] /= divisors[round];
  return quantile(ratios, 0.5);
}

std::optional<double> within_ratio(const Measured& measured, const Choice& one) {
  const std::vector<Sample>* const samples = samples_of(measured, one);
  if (samples == nullptr) return std::nullopt;
  return compare(*samples, measured.samples.front(), Partner::kInSameCgroup).ratio;
}

/// What is asked of each number of events, and what at most is the goal; 0: no goal.
struct Goal {
  const char* title;
  double at_most;
  std::optional<double> (*seen)(const Measured&, std::size_t events);
};

Choice counted(Way way, std::size_t events, std::size_t cgroups, std::size_t ancestors = 0) {
  return {way, events, cgroups, ancestors};
}

std::size_t fewest(const Measured& measured) { return measured.matrix.cgroups.front(); }
std::size_t most(const Measured& measured) { return measured.matrix.cgroups.back(); }

constexpr Goal kGoals[] = {
    {"across: added by records / by descriptors", 0.6,
     [](const Measured& measured, std::size_t events) {
       return added_ratio(measured, counted(Way::kRecords, events, fewest(measured)),
                          counted(Way::kDescriptors, events, fewest(measured)));
     }},
    {"the same, with 3 ancestors counted", 0.35,
     [](const Measured& measured, std::size_t events) {
       return added_ratio(measured, counted(Way::kRecords, events, fewest(measured), kAncestors),
                          counted(Way::kDescriptors, events, fewest(measured), kAncestors));
     }},
    {"across: added by records, most / fewest cgroups", 1.1,
     [](const Measured& measured, std::size_t events) -> std::optional<double> {
       if (most(measured) == fewest(measured)) return std::nullopt;
       return added_ratio(measured, counted(Way::kRecords, events, most(measured)),
                          counted(Way::kRecords, events, fewest(measured)));
     }},
    {"within a cgroup: records / nothing", 1.03,
     [](const Measured& measured, std::size_t events) {
       return within_ratio(measured, counted(Way::kRecords, events, fewest(measured)));
     }},
    {"the floor: the CPUs alone / nothing", 0,
     [](const Measured& measured, std::size_t events) {
       return within_ratio(measured, counted(Way::kCpus, events, 0));
     }},
    {"across: added by the CPUs alone / by records", 0,
     [](const Measured& measured, std::size_t events) {
       return added_ratio(measured, counted(Way::kCpus, events, 0),
                          counted(Way::kRecords, events, fewest(measured)));
     }},
};

void print_goal(const Measured& measured, const Goal& goal) {
  goal.at_most > 0 ? std::printf("%-48s %7.2f", goal.title, goal.at_most)
                   : std::printf("%-48s %7s", goal.title, "-");
  for (const std::size_t events : measured.matrix.event_numbers) {
    const std::optional<double> seen = goal.seen(measured, events);
    if (!seen) {
      std::printf(" %16s", "not measured");
      continue;
    }
    const char* const verdict = goal.at_most == 0       ? ""
                                : *seen <= goal.at_most ? "reached"
                                                        : "missed";
    std::printf(" %8.2f %-7s", *seen, verdict);
  }
  std::printf("\n");
}

}  // namespace

void print_table(const Measured& measured) {
  std::printf("\n%88s %36s\n", "within one cgroup", "across two cgroups");
  std::printf("%-27s %6s %7s %9s %11s", "counted by", "events", "cgroups", "ancestors",
              "descriptors");
  for (std::size_t i = 0; i < kPartners.size(); ++i) {
    std::printf(" %7s %6s %5s %9s", "ns/sw.", "+ ns", "ratio", "25-75%");
  }
  std::printf("\n");
  for (std::size_t number = 0; number < measured.variants.size(); ++number) {
    print_line(measured.variants[number], measured.samples[number], measured.samples.front());
  }
}

void print_goals(const Measured& measured) {
  std::printf("\n%-48s %7s", "goals, with so many events", "at most");
  for (const std::size_t events : measured.matrix.event_numbers)
    std::printf(" %8zu %7s", events, "");
  std::printf("\n");
  for (const Goal& goal : kGoals) print_goal(measured, goal);
}

void print_records(const RecordsRead& all) {
  if (all.read == 0) return;
  const std::uint64_t records = all.read + all.lost + all.skipped;
  std::printf(
      "\nOf %llu records in a last round, %llu were lost, as the ring had no room, and %llu were "
      "not "
      "written.\n",
      static_cast<unsigned long long>(records), static_cast<unsigned long long>(all.lost),
      static_cast<unsigned long long>(all.skipped));
}

void print_disturbed(const std::vector<Sample>& bare) {
  const auto disturbed = std::count_if(bare.begin(), bare.end(), [](const Sample& sample) {
    return sample.back() > kDisturbed * sample.front();
  });
  if (disturbed == 0) return;
  std::printf(
      "\nIn %td of %zu rounds, with nothing counted, a switch across cgroups took more than %.1f "
      "times one\nwithin: another program seems to count events of cgroups, and then the ratios "
      "are too low.\n",
      disturbed, bare.size(), kDisturbed);
}

}  // namespace pex::bench
