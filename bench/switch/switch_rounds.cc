#include "bench/switch/switch_rounds.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "bench/support/cost.h"

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// The kernel goes on looking for events of cgroups or tasks at each switch for a second after the
/// last one was closed (kernel/events/core.c, perf_sched_delayed).
constexpr std::chrono::milliseconds kLookingEnds{1200};

double by(const Sample& sample, Partner partner) {
  return sample[static_cast<std::size_t>(partner)];
}

Result<Sample> play_with_each(PingPong& game, std::size_t round_trips, const StopSignals& stop) {
  Sample sample{};
  for (const Partner partner : kPartners) {
    const Result<double> ns = game.ns_per_switch(partner, round_trips, stop);
    if (!ns) return ns.error();
    sample[static_cast<std::size_t>(partner)] = *ns;
  }
  return sample;
}

bool counts_by_descriptors(const Variant& variant) {
  return variant.choice.way == Way::kDescriptors;
}

Result<Sample> measure_one(Variant& variant, PingPong& game, std::size_t round_trips,
                           const StopSignals& stop) {
  const Result<std::unique_ptr<OpenCounters>> open = variant.open();
  if (!open) return open.error();
  variant.descriptors = (*open)->descriptors();
  return play_with_each(game, round_trips, stop);
}

/// Those by descriptors follow one another.
void shuffle(std::vector<std::size_t>& order, const std::vector<Variant>& variants,
             std::mt19937& chance) {
  std::shuffle(order.begin(), order.end(), chance);
  const bool are_first = chance() % 2 == 0;
  std::stable_partition(order.begin(), order.end(), [&](std::size_t number) {
    return counts_by_descriptors(variants[number]) == are_first;
  });
}

/// Until nothing is left of the events of cgroups that were open last. They go on playing: a CPU
/// that has slept for a second is slow for a while, and only some of the variants would meet that.
Result<> wait_for_quiet(Clock::time_point closed, PingPong& game, std::size_t round_trips,
                        const StopSignals& stop) {
  while (Clock::now() < closed + kLookingEnds) {
    const Result<Sample> unused = play_with_each(game, round_trips, stop);
    if (!unused) return unused.error();
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<Sample>>> measure_rounds(std::vector<Variant>& variants,
                                                        PingPong& game, const Rounds& rounds,
                                                        const StopSignals& stop) {
  std::vector<std::vector<Sample>> samples(variants.size());
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 chance{rounds.seed};
  Clock::time_point closed{};
  for (std::size_t round = 0; round < rounds.number; ++round) {
    shuffle(order, variants, chance);
    for (const std::size_t number : order) {
      Variant& variant = variants[number];
      if (!counts_by_descriptors(variant)) {
        const Result<> quiet = wait_for_quiet(closed, game, rounds.round_trips, stop);
        if (!quiet) return quiet.error();
      }
      const Result<Sample> sample = measure_one(variant, game, rounds.round_trips, stop);
      if (!sample) return sample.error();
      samples[number].push_back(*sample);
      if (counts_by_descriptors(variant)) closed = Clock::now();
    }
  }
  return samples;
}

Result<RecordsRead> count_records(std::vector<Variant>& variants, PingPong& game,
                                  std::size_t round_trips, const StopSignals& stop) {
  RecordsRead all;
  for (Variant& variant : variants) {
    if (variant.choice.way != Way::kRecords) continue;
    const Result<std::unique_ptr<OpenCounters>> open = variant.open();
    if (!open) return open.error();
    const Result<Sample> played = play_with_each(game, round_trips, stop);
    if (!played) return played.error();
    const RecordsRead read = (*open)->records();
    all.read += read.read;
    all.lost += read.lost;
    all.skipped += read.skipped;
  }
  return all;
}

Comparison compare(const std::vector<Sample>& samples, const std::vector<Sample>& bare,
                   Partner partner) {
  std::vector<double> ns;
  std::vector<double> added;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < samples.size(); ++round) {
    const double here = by(samples[round], partner);
    const double there = by(bare[round], partner);
    ns.push_back(here);
    added.push_back(here - there);
    ratios.push_back(here / there);
  }
  return {quantile(ns, 0.5), quantile(added, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25),
          quantile(ratios, 0.75)};
}

}  // namespace pex::bench
