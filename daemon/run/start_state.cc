#include "daemon/run/start_state.h"

#include <map>

#include "base/lookup.h"
#include "base/text.h"

namespace pex::daemon {
namespace {

using Step = StartState::Step;

constexpr unsigned kMaxCrashes = 3;

struct StepEntry {
  Step step;
  std::string_view name;
  std::string_view when;  ///< it ended; empty: that is no crash
};
constexpr StepEntry kSteps[] = {
    {Step::kPlanning, "planning", "while it planned"},
    {Step::kOpening, "opening", "in its first poll"},
    {Step::kPolled, "polled", "within a minute of its first poll"},
    {Step::kSettled, "settled", {}},
    {Step::kEnded, "ended", {}},
};

std::string when(const StartState& ended) {
  if (!ended.group.empty()) return "while it tried group '" + ended.group + "'";
  return std::string(lookup(kSteps, &StepEntry::step, ended.step)->when);
}

void lower(StartState& state, std::string cause) {
  state.counted = state.counted == Counted::kAll ? Counted::kSoftware : Counted::kNothing;
  state.cause = std::move(cause);
  state.crashes = 0;
}

}  // namespace

StartState next_start(const std::optional<StartState>& last, StartState now) {
  if (!last || last->version != now.version || last->configuration != now.configuration) return now;
  now.counted = last->counted;
  now.cause = last->cause;
  now.crashes = last->crashes;
  if (when(*last).empty()) return now;
  if (last->boot != now.boot) {
    lower(now, "the machine stopped " + when(*last));
  } else if (last->step != Step::kPolled && ++now.crashes == kMaxCrashes) {
    lower(now, "the exporter crashed three times, at last " + when(*last));
  }
  return now;
}

std::string to_text(const StartState& state) {
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) {
    text.append(key).append("=").append(value).append("\n");
  };
  add("version", state.version);
  add("configuration", state.configuration);
  add("boot", state.boot);
  add("counted", name_of(state.counted));
  add("cause", state.cause);
  add("crashes", std::to_string(state.crashes));
  add("step", lookup(kSteps, &StepEntry::step, state.step)->name);
  add("group", state.group);
  return text;
}

std::optional<StartState> start_state_of(std::string_view text) {
  std::map<std::string_view, std::string_view> values;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != line.npos) values[line.substr(0, equals)] = line.substr(equals + 1);
  }
  const StepEntry* const step = lookup(kSteps, &StepEntry::name, values["step"]);
  const CountedEntry* const counted =
      lookup(kCountedEntries, &CountedEntry::word, values["counted"]);
  const auto crashes = parse_unsigned(values["crashes"]);
  if (step == nullptr || counted == nullptr || !crashes || *crashes >= kMaxCrashes) return {};
  return StartState{std::string(values["version"]),
                    std::string(values["configuration"]),
                    std::string(values["boot"]),
                    counted->counted,
                    std::string(values["cause"]),
                    static_cast<unsigned>(*crashes),
                    step->step,
                    std::string(values["group"])};
}

}  // namespace pex::daemon
