#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cgroup/discovery/discovery.h"
#include "cgroup/hierarchy.h"
#include "daemon/cli/words.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/uncounted_trial.h"
#include "plan/availability.h"
#include "plan/cgroup_tree.h"
#include "targets/budget.h"

// What the configuration requires, and whether the machine provides it.

namespace pex::daemon {
namespace {

using State = Finding::State;

constexpr const char* kMoreFiles =
    "LimitNOFILE=1048576 in the unit, or --ulimit nofile=1048576 for a container";

collect::Need need_of(const CheckInputs& here) {
  return plan::counting_need(*here.planned, here.records && here.records->has_succeeded());
}

/// The limit of open files after the exporter has raised it at start.
collect::Budget budget_of(const CheckInputs& here) {
  collect::Budget budget = here.planned->plan.budget;
  budget.max_open_files = here.self.files.hard;
  return budget;
}

std::string limit_of(const host::FileLimit& files) {
  const auto text = [](std::uint64_t limit) {
    return limit == UINT64_MAX ? std::string("none") : number(limit);
  };
  if (files.soft == files.hard) return "limit " + text(files.hard);
  return "limit " + text(files.soft) + ", raised to " + text(files.hard) + " at start";
}

std::string needed(const collect::Need& need, std::size_t limit) {
  const std::string without_cgroups = number(collect::reserved_files(limit) + need.counters.cpus);
  if (!need.counts_cgroups) return without_cgroups + " needed";
  return without_cgroups + " needed, and " + number(need.cgroup_files()) + " for each cgroup";
}

Finding no_cgroups(const CheckInputs& here, std::string what, std::string remedy) {
  return {here.counts_cgroups() ? State::kBad : State::kNote, "cgroups", std::move(what),
          "no cgroup can be counted", std::move(remedy)};
}

/// One cgroup represents all: whatever prevents counting it concerns the whole tree.
std::optional<Error> refusal_in(const CheckInputs& here, const cgroup::DiscoveryResult& found) {
  for (const auto& cgroup : found.cgroups) {
    return refusal_at(here.kernel,
                      {here.planned->cpus->online.front(), cgroup->directory.get(), cgroup->path});
  }
  return {};
}

Finding not_followed(const cgroup::Tree::Skipped& skipped, std::string what) {
  if (skipped.beyond_limit == 0) {
    return {State::kNote, "cgroups", std::move(what),
            number_of(skipped.path_too_long, "path") +
                " too long to be published, for example in " + skipped.longest_in,
            "give these cgroups shorter names, or nest them less deep"};
  }
  return {State::kNote, "cgroups", std::move(what),
          "what is in " + number(skipped.beyond_limit) +
              " directories beyond the limit is not counted; most are in " + skipped.most_in,
          "raise limits.max_cgroup_directories, or find out which service creates so many cgroups"};
}

/// Of the cgroups that exist now.
Finding matching_cgroups(const CheckInputs& here, const cgroup::Hierarchy& tree, std::string what) {
  cgroup::Discovery discovery{tree, here.planned->plan.cgroups.selection,
                              plan::tree_limits(here.planned->plan.budget, here.options.roots)};
  const auto update = discovery.update(/*capacity=*/1, cgroup::Discovery::Clock::now());
  if (!update) return no_cgroups(here, could_not(update.error()), worded(update.error().remedy));
  const cgroup::DiscoveryResult& found = **update;
  const std::size_t matching = found.cgroups.size() + found.left_out;
  what += "; " + number(matching) + " to count now";
  if (const std::optional<Error> refused = refusal_in(here, found)) {
    return no_cgroups(here, what + ": could not " + without_remedy(*refused),
                      worded(refused->remedy));
  }
  if (!found.unreadable.empty()) {
    const Error& first = found.unreadable.front();
    return {State::kUnknown, "cgroups",
            what + "; directories that cannot be read: " + number(found.unreadable.size()),
            "the cgroups in these directories are not counted: could not " + without_remedy(first),
            worded(first.remedy)};
  }
  if (matching == 0) {
    return {State::kNote, "cgroups", what,
            "there are no series of cgroups until a matching cgroup exists",
            "compare cgroups.include with the paths below the mount (systemd-cgls)"};
  }
  if (const cgroup::Tree::Skipped skipped = discovery.skipped();
      skipped.beyond_limit + skipped.path_too_long > 0) {
    return not_followed(skipped, std::move(what));
  }
  const collect::Capacity capacity = collect::cgroup_capacity(budget_of(here), need_of(here));
  if (matching <= capacity.cgroups) return good("cgroups", what);
  return {State::kNote, "cgroups", what,
          number(matching - capacity.cgroups) + " of them are left out",
          "raise " + std::string(collect::bound_of(capacity.bound).words) +
              ", or select fewer in cgroups.include"};
}

/// "5 of 11 events"; an event counts once for every group that contains it.
std::string available_events(const plan::Plan& plan) {
  const auto available = std::count_if(plan.events.begin(), plan.events.end(),
                                       [](const auto& event) { return event.available; });
  return std::to_string(available) + " of " + number_of(plan.events.size(), "event");
}

/// Events of scope cgroup that were neither refused nor tried.
std::size_t untried_in_cgroups(const plan::Plan& plan) {
  const auto is_untried = [](const plan::EventAvailability& event) {
    return event.available && event.cgroup_scope && !event.tried_in_cgroup;
  };
  return static_cast<std::size_t>(
      std::count_if(plan.events.begin(), plan.events.end(), is_untried));
}

/// The subject that already reports the remedy for `reason`, or null.
const char* subject_of(const CheckInputs& here, const Error& reason) {
  const auto is_same = [&](const Error& other) {
    return reason.code == other.code && reason.remedy == other.remedy;
  };
  const auto& refused = here.refused;
  if (!refused.empty() && is_same(refused.begin()->second)) return "perf_event_open";
  return !here.tracing && is_same(here.tracing.error()) ? "tracefs" : nullptr;
}

}  // namespace

Findings check_cgroups(const CheckInputs& here) {
  const auto hierarchy = cgroup::find_hierarchy(here.options.roots);
  if (!hierarchy) {
    return {no_cgroups(here, could_not(hierarchy.error()), worded(hierarchy.error().remedy))};
  }
  if (!*hierarchy) {
    return {no_cgroups(here, "no mounted hierarchy has the perf_event controller",
                       "mount cgroup2, or set --path.cgroupfs to where it is")};
  }
  const cgroup::Hierarchy& tree = **hierarchy;
  const bool is_v2 = tree.version == cgroup::Hierarchy::Version::kV2;
  const std::string what = (is_v2 ? "version 2 in " : "version 1 in ") + tree.mount;
  if (!here.cpus.empty()) {
    const Result<> is_one =
        plan::check_tree(tree, here.options.roots, here.kernel, here.cpus.front());
    if (!is_one)
      return {no_cgroups(here, could_not(is_one.error()), worded(is_one.error().remedy))};
  }
  if (!here.may_open() && !here.counts_cgroups()) {
    return {{State::kUnknown, "cgroups", what + "; whether the kernel counts there is not known",
             "no event could be opened there", "see 'perf_event_open'"}};
  }
  if (!here.counts_cgroups()) return {good("cgroups", what)};
  return {matching_cgroups(here, tree, what)};
}

/// The cgroups that would be counted now. Much CPU time outside of them is a gap in
/// cgroups.include, or of a limit, unless it is that of the kernel.
Findings check_uncounted(const CheckInputs& here) {
  constexpr const char* kSubject = "uncounted CPU time";
  constexpr double kMuch = 0.05;
  if (!here.planned || !here.may_open()) return {};
  const Result<plan::CgroupTree> tree = find_cgroup_tree(*here.planned, here.options.roots);
  if (!tree || !tree->hierarchy) return {};
  const bool by_records = here.records && here.records->has_succeeded();
  plan::LoadedPlan planned = *here.planned;
  planned.plan.budget.opens_per_second = SIZE_MAX;  // none will be opened
  collect::TargetTracker tracker = plan::track_targets(
      planned, here.options.roots, tree->hierarchy, plan::counting_cost(planned, by_records), {});
  collect::PollReport report;
  const auto targets = tracker.update(collect::TargetTracker::Clock::now(), report);
  const auto use = measure_uncounted(*tree->hierarchy, *targets, 10 * here.self.trial);
  if (!use || !use->rate) return {};
  const cgroup::Selection& selection = here.planned->plan.cgroups.selection;
  const std::string what = describe(*use->rate);
  std::string much;
  for (const cgroup::UncountedUse::Part& part : use->largest) {
    if (part.text() == "/" || part.rate.share < kMuch) continue;
    much += (much.empty() ? "" : "; ") + describe(part, selection);
  }
  if (much.empty()) return {good(kSubject, what)};
  return {{State::kNote, kSubject, what, much, "'perf_event_exporter cgroups' lists the largest"}};
}

Findings check_open_files(const CheckInputs& here) {
  constexpr const char* kSubject = "open files";
  const std::string limit = limit_of(here.self.files);
  if (!here.planned) {
    return {unknown(kSubject,
                    limit + "; what the configuration needs is not known, because it has errors")};
  }
  const collect::Need need = need_of(here);
  const std::string what = limit + "; " + needed(need, here.self.files.hard);
  if (const Result<> fits = collect::check_cpu_groups(budget_of(here), need); !fits) {
    return {{State::kBad, kSubject, limit + "; " + without_remedy(fits.error()),
             "the exporter does not start", worded(fits.error().remedy)}};
  }
  if (!need.counts_cgroups) return {good(kSubject, what)};
  const collect::Capacity capacity = collect::cgroup_capacity(budget_of(here), need);
  const std::string room = what + ": room for " + number_of(capacity.cgroups, "cgroup");
  if (capacity.bound != "open_files") {
    return {good(kSubject,
                 room + " (bound: " + std::string(collect::bound_of(capacity.bound).words) + ")")};
  }
  return {{State::kNote, kSubject, room,
           "fewer than the configuration allows; further cgroups are left out", kMoreFiles}};
}

Findings check_configuration(const CheckInputs& here) {
  constexpr const char* kSubject = "configuration";
  Findings findings;
  const auto add = [&](State state, const Error& error, const std::string& consequence) {
    findings.push_back({state, kSubject, without_remedy(error), consequence, worded(error.remedy)});
  };
  if (!here.planned) {
    for (const yaml::Diagnostic& error : here.planned.error()) {
      add(State::kBad, error_of(error), "the exporter does not start");
    }
    return findings;
  }
  const plan::Plan& plan = here.planned->plan;
  const std::string available = available_events(plan) + " can be counted here";
  const bool counts_any = !plan.counting.cpu.empty() || !plan.counting.cgroup.empty();
  const bool adapts = here.planned->config.is_default && counts_any;
  for (Error reason : left_out(plan)) {
    const char* subject = subject_of(here, reason);
    if (subject != nullptr) reason.remedy = "see '" + std::string(subject) + "'";
    add(adapts ? State::kNote : State::kBad, reason, available);
  }
  if (const std::size_t untried = untried_in_cgroups(plan); untried > 0) {
    findings.push_back({State::kUnknown, kSubject,
                        available + "; whether " + number(untried) + " of them" +
                            " can be counted in cgroups is not known",
                        "there was no cgroup to try them in", "see 'cgroups'"});
  }
  if (findings.empty()) findings.push_back(good(kSubject, available));
  for (const plan::LeftOutGroup& group : plan.left_out_groups) {
    findings.push_back(good(kSubject, left_out(group).attempted));
  }
  for (const Error& warning : here.planned->config.origin.warnings) {
    add(State::kNote, warning, {});
  }
  for (const Error& warning : plan.warnings) {
    const bool is_about_fit = !warning.remedy.text().empty();
    add(State::kNote, warning,
        is_about_fit ? "values are estimates; a group that is never on the PMU has no series" : "");
  }
  return findings;
}

}  // namespace pex::daemon
