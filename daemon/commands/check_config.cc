#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/machine_record.h"
#include "daemon/doctor/records_trial.h"
#include "daemon/run/crash_guard.h"
#include "daemon/web/access_reload.h"
#include "exposition/metric_names.h"
#include "host/cpu_list.h"
#include "plan/availability.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

constexpr std::size_t kSubjectColumn = 14;
constexpr std::size_t kOpenFilesOfUnit = 1'048'576;  // LimitNOFILE=
constexpr const char* kUnrecorded =
    "rights, how many events fit on a PMU together, names of libpfm4, and functions of probes\n";

std::string number(std::size_t n) { return std::to_string(n); }

/// Also checks that the certificates can be used.
Result<void, std::vector<Error>> check_web_config(const Options& options) {
  if (options.web_config_file.empty()) return {};
  std::vector<yaml::Diagnostic> warnings;
  const Result<AccessReload, std::vector<Error>> access =
      AccessReload::load(options.web_config_file, options.web_required, warnings);
  for (const Error& warning : yaml::errors_of(warnings)) {
    std::cerr << "warning: " << printable(worded(warning)) << '\n';
  }
  return access ? Result<void, std::vector<Error>>{} : access.error();
}

/// One line for the CPUs that no group counts, and one for each group that leaves out more.
std::vector<std::string> cpus_left_out(const plan::LoadedPlan& planned) {
  std::vector<std::string> lines;
  const auto add = [&](const std::vector<int>& cpus, const std::string& of) {
    const std::string line = of + "not counted on CPU " + host::format_cpu_list(cpus) +
                             ": left out by the configuration";
    if (cpus.empty() || std::find(lines.begin(), lines.end(), line) != lines.end()) return;
    lines.push_back(line);
  };
  const collect::CountingPlan& plan = planned.plan.counting;
  add(planned.cpus->left_out, "");
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      add(group.left_out_cpus, "group '" + std::string(collect::configured_name(group)) + "' is ");
    }
  }
  return lines;
}

using Row = std::vector<std::string>;

/// Cgroups should be counted, and this machine has mounted none.
bool lacks_cgroups(const plan::LoadedPlan& planned, const plan::CgroupTree& tree) {
  return !tree.hierarchy && !planned.config.cgroups.include.empty();
}

/// One row for each event and scope, which is one metric.
std::vector<Row> event_rows(const plan::Plan& plan, bool lacks) {
  std::vector<Row> rows{{"GROUP", "EVENT", "SCOPE", "METRIC", "HERE"}};
  for (const plan::EventAvailability& event : plan.events) {
    for (const auto& [scope, is_counted] :
         {std::pair{Scope::kCpu, event.cpu_scope}, {Scope::kCgroup, event.cgroup_scope}}) {
      if (!is_counted) continue;
      rows.push_back({printable(event.group), printable(event.event), std::string(name_of(scope)),
                      event.identity ? exposition::family_name(scope, *event.identity) : "-",
                      (event.available && lacks && scope == Scope::kCgroup
                           ? "no (no cgroup mount)"
                           : yes_or_no(event.available, event.reason)) +
                          (event.is_expected_lack() ? ", optional" : "")});
    }
  }
  return rows;
}

/// One for each event of scope cpu whose metric does not mean what its name suggests.
std::vector<std::string> notes_on(const plan::Plan& plan) {
  std::vector<std::string> notes;
  for (const plan::EventAvailability& event : plan.events) {
    if (!event.cpu_scope || !event.identity || event.identity->cpu_help.empty()) continue;
    notes.push_back("note: " + exposition::family_name(Scope::kCpu, *event.identity) +
                    " is elapsed time: it grows by 1 per second on each CPU, busy or idle. For " +
                    "CPU time, count " + event.event + " with scope cgroup only");
  }
  return notes;
}

void print_subject(const char* subject, const std::string& text) {
  std::cout << column(subject, kSubjectColumn) << text << '\n';
}

/// Whether it is known of every cgroup if it matches.
bool are_all_known(const cgroup::DiscoveryResult& found, const collect::PollReport& report) {
  const collect::PollReport::CgroupDirectories& directories = report.now.cgroup_directories;
  const bool is_unreadable =
      directories.followed + directories.unwatched == 0 && !report.failures.empty();
  return !is_unreadable && found.unreadable.empty() &&
         directories.beyond_limit + directories.path_too_long == 0;
}

/// What is wrong with the tree of cgroups; each once.
std::vector<Error> faults_of(const cgroup::DiscoveryResult& found,
                             const collect::PollReport& report) {
  std::vector<Error> faults = found.unreadable;
  for (const auto& [cause, failure] : report.failures) {
    if (std::find(faults.begin(), faults.end(), failure.first) == faults.end()) {
      faults.push_back(failure.first);
    }
  }
  return faults;
}

/// How many cgroups would be counted now, and what keeps others from it.
void print_cgroups(const plan::LoadedPlan& planned, const plan::CgroupTree& tree,
                   const collect::Need& need, collect::CostFunction cost, const Options& options) {
  if (!tree.hierarchy || planned.plan.counting.cgroup.empty()) return;
  collect::TargetTracker tracker =
      track_targets(planned, options.roots, tree.hierarchy, std::move(cost));
  collect::PollReport report;
  const auto targets = tracker.update(collect::TargetTracker::Clock::now(), report);
  const collect::Capacity room = collect::cgroup_capacity(planned.plan.budget, need);
  const std::size_t matching = targets->found->cgroups.size() + targets->found->left_out;
  print_subject("cgroups", (are_all_known(*targets->found, report) ? "" : "at least ") +
                               number_of(matching, "cgroup") +
                               (matching == 1 ? " matches" : " match") + " now; room for " +
                               number(room.cgroups) + " (" +
                               std::string(collect::bound_of(room.bound).words) + ")");
  for (const Error& fault : faults_of(*targets->found, report)) {
    std::cout << '\n' << printable(worded(fault)) << '\n';
  }
}

/// What the counters take, before any of them is opened.
void print_cost(const collect::Need& need, const collect::Budget& budget) {
  const std::size_t limit = budget.open_files();
  const auto with_cgroups = [&](std::size_t cpus, std::size_t cgroup) {
    return number(cpus) + (cgroup == 0 ? "" : ", and " + number(cgroup) + " for each cgroup");
  };
  print_subject("counters", with_cgroups(need.counters.cpus, need.counters.cgroup));
  print_subject("open files", "limit " + number(limit) + "; needs " +
                                  with_cgroups(collect::reserved_files(limit) + need.counters.cpus,
                                               need.cgroup_files()));
  print_subject("series", "limit " + number(budget.max_series) + "; at most " +
                              with_cgroups(need.fixed_series, need.cgroup_series));
}

void print_warnings(const plan::LoadedPlan& planned, const plan::CgroupTree& tree) {
  for (const plan::LeftOutGroup& group : planned.plan.left_out_groups) {
    std::cout << printable(worded(left_out(group))) << "\n\n";
  }
  for (const std::string& line : left_out_lines(planned.plan, program_words)) {
    std::cout << printable(line) << "\n\n";
  }
  for (const auto* warnings :
       {&planned.config.origin.warnings, &planned.plan.warnings, &tree.warnings}) {
    for (const Error& warning : *warnings) std::cout << printable(worded(warning)) << "\n\n";
  }
  for (const std::string& line : notes_on(planned.plan)) std::cout << printable(line) << "\n\n";
  for (const std::string& line : cpus_left_out(planned)) std::cout << printable(line) << "\n\n";
}

/// Why the exporter would not start, which counts by descriptors unless records are demanded.
std::vector<Error> excess_of(const plan::LoadedPlan& planned) {
  std::vector<Error> excess =
      collect::excess_of_cpu_groups(planned.plan.budget, plan::counting_need(planned));
  for (Error& error : excess) error.attempted += ": the exporter does not start";
  return excess;
}

ExitStatus check_limits(const plan::LoadedPlan& planned) {
  const std::vector<Error> excess = excess_of(planned);
  print_errors(excess);
  return excess.empty() ? kOk : kFailed;
}

/// The last lines. False if the exporter would not start, if an event is missing that is not
/// optional, or if the output cannot be written.
bool print_verdict(const plan::LoadedPlan& planned, bool lacks) {
  const std::vector<plan::EventAvailability>& events = planned.plan.events;
  const auto count = [&events](auto is_so) {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), is_so));
  };
  const std::size_t available =
      count([&](const auto& event) { return event.available && (event.cpu_scope || !lacks); });
  const std::size_t expected = count([&](const auto& event) {
    const bool lacks_its_scope = event.available && !event.cpu_scope && lacks;
    return event.is_expected_lack() ||
           (event.optional && (lacks_its_scope || event.is_unknown_here));
  });
  const std::vector<Error> excess = excess_of(planned);

  std::cout << (excess.empty() ? "\nvalid: " : "\nnot valid: ") << available << " of "
            << number_of(events.size(), "event") << " can be counted here"
            << (expected == 0 ? "" : "; " + number(expected) + " missing, but optional") << '\n';
  const bool adapts = planned.config.is_default && available > 0;
  const std::size_t missing = events.size() - available - expected;
  const bool are_all = missing == 0 || adapts;
  if (!are_all) {
    std::cout << "exit status 1: " << number_of(missing, "event") << " cannot be counted\n";
  }
  const bool is_printed = flush_output();  // before the errors, where both go to one place
  print_errors(excess);
  return is_printed && excess.empty() && are_all;
}

ExitStatus check(const Options& options, perf::PerfKernel& kernel) {
  const bool is_here = options.machine_file.empty();
  const Result<void, std::vector<Error>> web = check_web_config(options);
  if (!web) print_errors(web.error());
  plan::Supervision by;
  if (options.check_start) {  // at each 'systemctl reload': it opens no more than the service
    by.allow = [&](const config::Loaded& loaded) {
      return counted_after_crashes(options.state_directory, loaded);
    };
  }
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned = plan::load_and_plan(
      options.config_file, options.roots, kernel, nullptr, options.unknown_keys, by);
  if (!planned) print_errors(yaml::errors_of(planned.error()));
  if (!planned || !web) return kFailed;
  if (!is_here) planned->plan.budget.max_open_files = kOpenFilesOfUnit;
  const Result<plan::CgroupTree> tree = find_counted_tree(*planned, options.roots, kernel);
  if (!tree) {
    print_errors({tree.error()});
    return kFailed;
  }
  if (options.check_start) return check_limits(*planned);
  const std::optional<bool> by_records = would_use_records(*planned, kernel);
  const collect::Need need = plan::counting_need(*planned, by_records);

  std::cout << "configuration: " << printable(name_of_config(options)) << '\n';
  if (!options.web_config_file.empty()) {
    std::cout << "web configuration: '" << printable(options.web_config_file) << "' is valid\n";
  }
  if (is_here) {
    print_note_for_root("--config.check", options);
  } else {
    std::cout << "machine: '" << printable(options.machine_file)
              << "'\nnot checked: " << kUnrecorded;
  }
  std::cout << '\n';
  const bool lacks = lacks_cgroups(*planned, *tree);
  print_table(std::cout, event_rows(planned->plan, lacks));
  std::cout << '\n';
  print_warnings(*planned, *tree);
  print_cost(need, planned->plan.budget);
  print_cgroups(*planned, *tree, need, plan::counting_cost(*planned, by_records), options);
  return print_verdict(*planned, lacks) ? kOk : kFailed;
}

}  // namespace

ExitStatus check_config(const Options& options, perf::PerfKernel& kernel) {
  if (options.machine_file.empty()) return check(options, kernel);
  ExitStatus status = kFailed;
  const auto check_it = [&](const host::HostRoots& roots, perf::PerfKernel& recorded) {
    Options elsewhere = options;
    elsewhere.roots = roots;
    status = check(elsewhere, recorded);
  };
  const Result<> read = on_recorded_machine(options.machine_file, check_it);
  if (!read) print_errors({read.error()});
  return status;
}

}  // namespace pex::daemon
