#include "config/duty_cycle.h"

#include <fmt/core.h>

#include "base/duration.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

// Time without the PMU is estimated for a minute (estimate::kMaxImputed), so no cycle is longer.
constexpr yaml::DurationRange kOn = {1s, 59s};
constexpr yaml::DurationRange kEvery = {2s, 60s};

/// The key must be there.
template <auto member, const yaml::DurationRange& range>
constexpr yaml::Key<DutyCycle> required(std::string_view name, std::string_view when_missing) {
  yaml::Key<DutyCycle> key = yaml::duration_key<member, range>(name);
  key.text.unwritten = nullptr;
  key.when_missing = when_missing;
  key.remedy = "write for example 'duty_cycle: {on: 10s, every: 60s}'";
  return key;
}

constexpr yaml::Key<DutyCycle> kDutyCycleKeys[] = {
    required<&DutyCycle::on, kOn>("on", "the duty cycle does not say how long the group counts"),
    required<&DutyCycle::every, kEvery>("every", "the duty cycle does not say how long it is"),
};

}  // namespace

void read_duty_cycle(const yaml::Value& value, Group& group) {
  const std::size_t errors = value.error_count();
  DutyCycle cycle;
  read_map<DutyCycle>(value, kDutyCycleKeys, cycle);
  if (value.error_count() != errors) return;
  if (cycle.on >= cycle.every) {
    return value.refuse(
        fmt::format("the group would count for {} in every {}, which is all the time",
                    format_duration(cycle.on), format_duration(cycle.every)),
        "shorten 'on', or remove duty_cycle");
  }
  group.duty_cycle = cycle;
  group.duty_cycle_at = value.at();
}

void list_duty_cycle_keys(const std::string& map, std::vector<yaml::KeyReference>& all) {
  list_keys<DutyCycle>(kDutyCycleKeys, map, all);
}

void check_duty_cycles(const Config& config, yaml::Diagnostics& diagnostics) {
  const auto interval = config.collection.interval;
  for (const Group& group : config.groups) {
    if (!group.duty_cycle || group.duty_cycle->on >= 2 * interval) continue;
    diagnostics.add({group.duty_cycle_at,
                     fmt::format("the group counts for {} at a time, and is read every {}",
                                 format_duration(group.duty_cycle->on), format_duration(interval)),
                     "write at least two intervals for 'on', or shorten collection.interval"});
  }
}

}  // namespace pex::config
