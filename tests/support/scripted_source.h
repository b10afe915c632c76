#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collect/counter_source.h"

namespace pex::test {

/// Counts without a kernel: in each poll every open group runs for a millisecond, and its first
/// event happens once, the second twice and so on. Of what is said to rest nothing happens.
class ScriptedSource final : public collect::CounterSource {
 public:
  explicit ScriptedSource(std::shared_ptr<const std::set<std::string>> resting = {})
      : resting_(std::move(resting)) {}

  bool begin_poll(const collect::TargetSet&) override {
    for (auto& [handle, group] : groups_) {
      group.polls += rests(group) ? 0 : 1;
    }
    return false;
  }
  std::optional<std::chrono::nanoseconds> detect_cpu_offline() override { return {}; }
  void forget_cpu() override {}

  Result<Handle, perf::OpenFailure> open(
      const collect::GroupPlan&, std::span<const perf::CounterSpec> events,
      const std::shared_ptr<const cgroup::Cgroup>& cgroup) override {
    ++progress_;
    groups_[++last_] = {events.size(), cgroup ? cgroup->path : ""};
    return last_;
  }
  void close(Handle group) override { groups_.erase(group); }

  Result<State> read(Handle handle, perf::GroupReading& reading) override {
    ++progress_;
    Group& group = groups_.at(handle);
    if (group.was_read && rests(group)) return State::kUnchanged;
    group.was_read = true;
    reading = {};
    reading.time_enabled = reading.time_running = std::chrono::milliseconds{group.polls};
    for (std::size_t event = 0; event < group.events; ++event) {
      reading.counts.push_back(group.polls * (event + 1));
    }
    return State::kCounting;
  }
  Result<State> read_off_pmu(Handle, perf::GroupReading&) override { return State::kOffPmu; }
  Result<> disable(Handle) override { return {}; }
  Result<> enable(Handle) override { return {}; }
  std::size_t events(Handle group) const override { return groups_.at(group).events; }
  std::size_t own_events() const override { return 0; }
  std::chrono::nanoseconds now() override { return {}; }
  std::uint64_t progress() const override { return progress_; }

 private:
  struct Group {
    std::size_t events = 0;
    std::string cgroup;
    std::uint64_t polls = 0;
    bool was_read = false;
  };
  bool rests(const Group& group) const { return resting_ && resting_->contains(group.cgroup); }

  std::shared_ptr<const std::set<std::string>> resting_;
  std::map<Handle, Group> groups_;
  Handle last_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace pex::test
