#include "formula.h"

#include <chrono>
#include <optional>
#include <vector>

#include "estimate/event_model.h"
#include "estimate/group_estimator.h"

namespace pex::bench {
namespace {

double real(std::uint64_t total) { return static_cast<double>(total); }

/// prometheus/node_exporter, collector/perf_linux.go.
struct Raw {
  double show(const Reading& now) { return real(now.events); }
};

/// google/cadvisor, perf/collector_libpfm.go, getPerfValues().
struct Lifetime {
  double show(const Reading& now) {
    if (now.running_ns == 0) return real(now.events);
    const double ratio = real(now.running_ns) / real(now.enabled_ns);
    return real(static_cast<std::uint64_t>(real(now.events) / ratio));
  }
};

/// PAPI, src/components/perf_event/perf_event.c, _pe_read_multiplexed(): two decimals.
struct Papi {
  double show(const Reading& now) {
    if (now.running_ns == 0) return real(now.events);
    return real(now.enabled_ns * 100 / now.running_ns * now.events / 100);
  }
};

/// netdata, PCP, perf stat -I, with neither the overflow of the first nor the truncation of the
/// second.
struct Delta {
  Reading last;
  double total = 0;

  double show(const Reading& now) {
    const double running = real(now.running_ns - last.running_ns);
    const double enabled = real(now.enabled_ns - last.enabled_ns);
    if (running > 0) total += real(now.events - last.events) * enabled / running;
    last = now;
    return total;
  }
};

/// PAPI, src/sw_multiplex.c (MPX; May, IPDPS 2001): by cycles. Too few of them, and the interval
/// waits for the next one.
struct Cycles {
  static constexpr std::uint64_t kEnough = 25'000;
  Reading last;
  double total = 0;

  double show(const Reading& now) {
    const std::uint64_t sampled = now.sampled - last.sampled;
    if (sampled < kEnough) return total;
    total += real(now.events - last.events) * real(now.always - last.always) / real(sampled);
    last = now;
    return total;
  }
};

template <typename OneGroup>
class EachAlone : public Exporter {
 public:
  explicit EachAlone(std::size_t groups) : groups_(groups) {}

  void poll(std::span<const Reading> readings, std::span<Shown> shown) override {
    for (std::size_t g = 0; g < groups_.size(); ++g) shown[g].value = groups_[g].show(readings[g]);
  }

 private:
  std::vector<OneGroup> groups_;
};

template <typename OneGroup>
std::unique_ptr<Exporter> each_alone(std::size_t groups, double) {
  return std::make_unique<EachAlone<OneGroup>>(groups);
}

/// lib/estimate as the daemon drives it: the groups are the targets of one event.
class Ours : public Exporter {
 public:
  Ours(std::size_t groups, double slot_ns)
      : groups_(groups,
                estimate::GroupEstimator{
                    1, std::chrono::nanoseconds{static_cast<std::int64_t>(slot_ns)}}),
        totals_(groups) {}

  void poll(std::span<const Reading> readings, std::span<Shown> shown) override {
    estimate::ModelUpdate update;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      totals_[g].add(advance(groups_[g], readings[g], update));
      shown[g] = {real(totals_[g].observed) + real(totals_[g].extrapolated), totals_[g].variance};
    }
    model_.learn(update);
  }

 private:
  struct Totals {
    std::uint64_t observed = 0;
    std::uint64_t extrapolated = 0;
    double variance = 0;

    void add(const estimate::EventIncrement& increment) {
      observed += increment.observed;
      extrapolated += increment.extrapolated;
      variance += increment.variance;
    }
  };

  estimate::EventIncrement advance(estimate::GroupEstimator& group, const Reading& now,
                                   estimate::ModelUpdate& update) {
    using std::chrono::nanoseconds;
    estimate::Sample sample{.enabled = nanoseconds{now.enabled_ns},
                            .running = nanoseconds{now.running_ns},
                            .counts = {&now.events, 1}};
    if (now.always_enabled_ns > 0) {
      sample.reference = {now.sampled, now.always, nanoseconds{now.always_enabled_ns}};
    }
    if (now.clock_ns > 0) sample.clock = nanoseconds{now.clock_ns};
    if (now.clock_always_enabled_ns > 0) {
      sample.clock_always = {nanoseconds{now.clock_always_ns},
                             nanoseconds{now.clock_always_enabled_ns}};
    }
    sample.kernel_mistimes = kernel_mistimes_;
    estimate::EventIncrement increment;
    const auto advanced = group.advance(sample, {&model_, 1}, {&increment, 1}, {&update, 1});
    kernel_mistimes_ = kernel_mistimes_ || advanced.mistimed;
    return increment;
  }

  estimate::EventModel model_;
  bool kernel_mistimes_ = false;
  std::vector<estimate::GroupEstimator> groups_;
  std::vector<Totals> totals_;
};

std::unique_ptr<Exporter> ours(std::size_t groups, double slot_ns) {
  return std::make_unique<Ours>(groups, slot_ns);
}

constexpr Formula kFormulas[] = {
    {"raw", "node_exporter", each_alone<Raw>},
    {"lifetime", "cAdvisor, koordinator, telegraf, collectd", each_alone<Lifetime>},
    {"PAPI", "PAPI perf_event", each_alone<Papi>},
    {"delta", "netdata, PCP, perf stat -I", each_alone<Delta>},
    {"ratio", "PAPI sw_multiplex", each_alone<Cycles>},
    {"ours", "perf_event_exporter", ours},
};

}  // namespace

std::span<const Formula> formulas() { return kFormulas; }

}  // namespace pex::bench
