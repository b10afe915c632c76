#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "count/counter_source.h"

namespace pex::test {

/// Counts without a kernel: in each poll every open group runs for a millisecond, and its first
/// event happens once, the second twice and so on. Of what is said to rest nothing happens.
class ScriptedSource final : public collect::CounterSource {
 public:
  explicit ScriptedSource(std::shared_ptr<const std::set<std::string>> resting = {})
      : resting_(std::move(resting)) {}

  std::unique_ptr<collect::GroupCounters> counters_of(const collect::GroupPlan&) override {
    return std::make_unique<Group>(*this);
  }
  bool begin_poll(const collect::TargetSet&) override {
    ++polls_;
    return false;
  }
  std::optional<std::chrono::nanoseconds> detect_cpu_offline(bool) override { return {}; }
  std::size_t own_events() const override { return 0; }
  std::chrono::nanoseconds now() override { return {}; }
  std::uint64_t progress() const override { return progress_; }

 private:
  class Group final : public collect::GroupCounters {
   public:
    explicit Group(ScriptedSource& source) : source_(source) {}

    Result<Opened, perf::OpenFailure> open(
        std::size_t target, const collect::GroupPlan&, std::span<const perf::CounterSpec> events,
        const std::shared_ptr<const cgroup::Cgroup>& cgroup) override {
      ++source_.progress_;
      open_[target] = {events.size(), cgroup ? cgroup->path : "", source_.polls_};
      return Opened{.events = events.size()};
    }
    void close(std::size_t target) override { open_.erase(target); }

    Result<State> read(std::size_t target, perf::GroupInterval& since) override {
      ++source_.progress_;
      Open& at = open_.at(target);
      if (source_.resting_ && source_.resting_->contains(at.cgroup)) return State::kUnchanged;
      const std::uint64_t polls = source_.polls_ - std::exchange(at.polls, source_.polls_);
      since = {};
      since.enabled = since.running = std::chrono::milliseconds{polls};
      for (std::size_t event = 0; event < at.events; ++event) {
        since.counts.push_back(polls * (event + 1));
      }
      return State::kCounting;
    }
    Result<State> read_off_pmu(std::size_t, perf::GroupInterval&) override {
      return State::kOffPmu;
    }
    Result<> set_enabled(std::size_t, bool) override { return {}; }

   private:
    struct Open {
      std::size_t events = 0;
      std::string cgroup;
      std::uint64_t polls = 0;  ///< at the last read
    };

    ScriptedSource& source_;
    std::map<std::size_t, Open> open_;
  };

  std::shared_ptr<const std::set<std::string>> resting_;
  std::uint64_t polls_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace pex::test
