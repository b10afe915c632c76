#include <fnmatch.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/commands/commands.h"
#include "daemon/status/json_array.h"
#include "events/event_resolver.h"
#include "events/event_syntax.h"
#include "events/required_leader.h"
#include "exposition/metric_names.h"
#include "host/cpu_list.h"
#include "host/topology.h"
#include "host/tracing.h"
#include "plan/event_trial.h"
#include "plan/probe_cpus.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;

constexpr std::size_t kNameColumn = 34;
constexpr std::size_t kKindColumn = 12;
constexpr std::size_t kPmuColumn = 14;
constexpr std::size_t kCpusColumn = 10;
constexpr std::size_t kHereColumn = 14;

/// One line of the list.
struct Line {
  events::ListedEvent listed;
  std::optional<events::EventSpec> spec;  ///< on the first PMU that has it; none when not resolved
  std::string cpus;                       ///< "0-3", "all"
  bool tried = false;
  std::optional<Error> refused;  ///< why the event cannot be counted here
  std::string leader = {};       ///< event that must precede it in its group; empty: none
  bool waits = false;            ///< no CPU of its PMU is online, so it was not tried
};

bool is_tried(const events::ListedEvent& event) { return !event.is_one_of_thousands; }

/// Matches the name, in any case; the full name of a vendor's event, "skl::INST_RETIRED:ANY"; the
/// kind of event and the PMU.
bool matches(const std::string& glob, const events::ListedEvent& event) {
  const auto is_called = [&glob](const std::string& name) {
    return ::fnmatch(glob.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  };
  return is_called(event.name) || is_called(std::string(event.kind)) || is_called(event.pmu) ||
         (!is_tried(event) && is_called(event.pmu + "::" + event.name));
}

/// As ListedEvent::kind.
constexpr const char* kTracepoint = "tracepoint";

/// Whether `glob` may match tracepoints, which are named "system:name" without '-' and '/'.
bool may_match_tracepoints(const std::string& glob) {
  if (::fnmatch(glob.c_str(), kTracepoint, FNM_CASEFOLD) == 0) return true;
  return glob.find_first_of("-/") == glob.npos && glob.find_first_of(":*") != glob.npos;
}

/// Whether it matches nothing else.
bool is_of_tracepoints(const std::string& glob) {
  return may_match_tracepoints(glob) && (glob == kTracepoint || glob.find(':') != glob.npos);
}

/// For a pattern that nothing matches: "did you mean 'LLC-load-misses'?".
std::string remedy_for(const std::string& glob, const std::vector<events::ListedEvent>& all) {
  std::vector<std::string> names;
  for (const events::ListedEvent& event : all) names.push_back(event.name);
  const std::optional<std::string> meant = nearest(glob, names);
  return meant ? "did you mean '" + *meant + "'?"
               : "'list' without a pattern prints all of them, and 'list \"*miss*\"' those with a "
                 "word in their name";
}

std::string cpus_of(const events::PmuCatalogue& pmus, const events::EventSpec& spec) {
  const std::string& name = spec.instances.front().pmu;
  const events::Pmu* pmu = name.empty() ? nullptr : pmus.find(name);
  return pmu == nullptr ? "all" : host::format_cpu_list(pmu->cpus);
}

Line try_event(const events::ListedEvent& listed, const events::EventResolver& resolver,
               perf::PerfKernel& kernel, const plan::ProbeCpus& cpus) {
  Line line{listed, {}, "all", is_tried(listed), {}};
  const auto parsed = events::parse_events(listed.name);
  if (!parsed) {
    line.refused = Error{0, parsed.error().what, parsed.error().remedy};
    return line;
  }
  auto specs = resolver.resolve(parsed->events.front());
  if (!specs) {
    line.refused = specs.error().error;
    return line;
  }
  line.spec = std::move(specs->front());
  line.cpus = cpus_of(resolver.pmus(), *line.spec);
  const events::EventInstance& instance = line.spec->instances.front();
  line.waits = !instance.pmu.empty() && cpus.is_waiting(instance.pmu);
  line.tried = line.tried && !line.waits;
  if (!line.tried) return line;
  perf::CounterSpec event{listed.name, instance.attributes};
  const perf::Place place{cpus.where_it_opens(kernel, instance.pmu, {&event, 1}), -1, {}};
  Result<> tried = plan::try_event(kernel, event, place);
  auto needed = events::required_leader(resolver.pmus(), instance.attributes);
  if (!tried && needed && needed->refusal == tried.error().code) {
    line.leader = needed->counter.name;
    tried = plan::try_event(kernel, event, place, &needed->counter);
  }
  if (!tried && plan::may_be_about_guests(resolver.pmus(), event.attributes, tried.error().code)) {
    event.attributes.exclude_guest = true;
    if (needed) needed->counter.attributes.exclude_guest = true;
    const Result<> without =
        plan::try_event(kernel, event, place, line.leader.empty() ? nullptr : &needed->counter);
    if (without) return line;  // the exporter counts it so
  }
  if (!tried) line.refused = tried.error();
  return line;
}

std::string description(const Line& line) {
  if (line.leader.empty()) return line.listed.help;
  return line.listed.help + (line.listed.help.empty() ? "" : " ") + "Only in a group with " +
         line.leader + ".";
}

/// Neither a missing right nor a shortage is a fact of the machine.
bool lacks(const Line& line) {
  return line.refused && plan::is_lasting(line.refused->code) &&
         !plan::is_about_rights(line.refused->code);
}

void print_table(const std::vector<Line>& lines, bool hides_lacking) {
  std::size_t hidden = 0;
  std::cout << column("EVENT", kNameColumn) << column("KIND", kKindColumn)
            << column("PMU", kPmuColumn) << column("CPUS", kCpusColumn)
            << column("HERE", kHereColumn) << "DESCRIPTION\n";
  for (const Line& line : lines) {
    if (hides_lacking && lacks(line)) {
      ++hidden;
      continue;
    }
    const bool is_known = line.tried || line.refused;
    std::cout << column(printable(line.listed.name), kNameColumn)
              << column(std::string(line.listed.kind), kKindColumn)
              << column(line.listed.pmu.empty() ? "-" : printable(line.listed.pmu), kPmuColumn)
              << column(line.cpus, kCpusColumn)
              << column(is_known     ? yes_or_no(!line.refused, line.refused.value_or(Error{}))
                        : line.waits ? "waits"
                                     : "listed",
                        kHereColumn)
              << printable(description(line)) << '\n';
  }
  if (hidden > 0) {
    std::cout << "\n"
              << number_of(hidden, "event") << " that this machine lacks "
              << (hidden == 1 ? "is" : "are") << " not listed: see --all\n";
  }
}

json::object line_json(const Line& line) {
  json::object object{{"event", line.listed.name},
                      {"kind", line.listed.kind},
                      {"pmu", line.listed.pmu},
                      {"cpus", line.cpus},
                      {"description", line.listed.help}};
  object["available"] = line.tried || line.refused ? json::value(!line.refused) : json::value();
  if (!line.leader.empty()) object["leader"] = line.leader;
  if (line.refused) object["reason"] = worded(*line.refused);
  if (line.spec) {
    const perf::EventAttributes& attributes = line.spec->instances.front().attributes;
    object["type"] = attributes.type;
    object["config"] = attributes.config;
    object["metric"] = exposition::family_name(Scope::kCpu, line.spec->identity);
  }
  return object;
}

void print_json(const std::vector<Line>& lines) {
  std::cout << printable(json::serialize(json_array(lines, line_json))) << '\n';
}

/// Nothing matches; without `tracing`, no tracepoint could.
Error no_match(const std::string& glob, const std::vector<events::ListedEvent>& all,
               const Result<std::string>& tracing) {
  const std::string attempted = "no event matches '" + glob + "'";
  if (tracing || !is_of_tracepoints(glob)) return {0, attempted, remedy_for(glob, all)};
  const Error& refused = tracing.error();
  return {refused.code,
          attempted + ", and tracepoints are not known: could not " + refused.attempted,
          refused.remedy, refused.cause};
}

}  // namespace

ExitStatus list_events(const Options& options, perf::PerfKernel& kernel, Log& log) {
  const Result<std::vector<int>> online = host::online_cpus(options.roots);
  if (!online) return failed(log, {online.error()});
  const Result<events::EventResolver> resolver = events::EventResolver::create(options.roots);
  if (!resolver) return failed(log, {resolver.error()});

  const plan::ProbeCpus cpus{*resolver, *online};
  std::vector<Line> lines;
  const std::vector<events::ListedEvent> all = events::list_events(*resolver);
  for (const events::ListedEvent& event : all) {
    if (!matches(options.list_glob, event)) continue;
    lines.push_back(try_event(event, *resolver, kernel, cpus));
  }
  const Result<std::string> tracing = may_match_tracepoints(options.list_glob)
                                          ? host::find_tracing(options.roots)
                                          : Result<std::string>{std::string{}};
  if (!tracing && !(lines.empty() && is_of_tracepoints(options.list_glob))) {
    Error hidden = tracing.error();
    hidden.attempted = "tracepoints are not listed: could not " + hidden.attempted;
    log.warn(hidden);
  }
  if (lines.empty()) return failed(log, {no_match(options.list_glob, all, tracing)});
  if (options.output == OutputFormat::kJson) {
    print_json(lines);
  } else {
    print_table(lines, options.list_glob == "*" && !options.list_all);
  }
  return flush_output() ? kOk : kFailed;
}

}  // namespace pex::daemon
