#include "daemon/run/counting_session.h"

#include <tuple>

#include "base/lookup.h"
#include "config/load.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using testing::FieldsAre;

/// One configuration in force, and another one that takes its place.
class CountingSessionTest : public testing::Test {
 protected:
  CountingSession start(const std::string& text, CountingSession* in_force = nullptr) {
    return start(text, in_force, roots_);
  }

  plan::LoadedPlan planned(const std::string& text) { return planned(text, roots_, nullptr); }

  plan::LoadedPlan planned(const std::string& text, const host::HostRoots& roots,
                           const plan::Plan* in_force) {
    config::Loaded loaded = config::load_text(text, "c.yaml");
    EXPECT_FALSE(loaded.diagnostics.has_errors()) << text;
    auto planned = plan_for_machine(std::move(loaded.config), roots, kernel_, in_force);
    EXPECT_TRUE(planned) << text << describe(errors_of(planned.error()).front());
    return *std::move(planned);
  }

  CountingSession start(const std::string& text, CountingSession* in_force,
                        const host::HostRoots& roots) {
    const plan::Plan* const plan = in_force ? &in_force->plan : nullptr;
    Result<CountingSession> counting =
        start_counting(planned(text, roots, plan), roots, kernel_, in_force);
    if (!counting->collector) take_over(*in_force, *counting);
    return std::move(*counting);
  }

  /// Whether the collector of the one goes on counting for the other.
  bool is_taken_over(const std::string& before, const std::string& after) {
    CountingSession in_force = start(before);
    const collect::Collector* collector = in_force.collector.get();
    return start(after, &in_force).collector.get() == collector;
  }

  const test::TempTree tree_{{"sys/devices/system/cpu/online", "0-1\n"},
                             {"sys/kernel/tracing/events/sched/sched_switch/id", "310\n"},
                             {"sys/kernel/tracing/events/sched/sched_switch/format",
                              "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"},
                             {"proc/sys/kernel/osrelease", "6.1.0\n"},
                             {"cgroup/cgroup.controllers", ""}};
  const host::HostRoots roots_{tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
  test::ScriptedKernel kernel_;
};

const std::string kGroups =
    "groups:\n  - {name: core, events: [cycles, cpu-clock], scope: [cpu, cgroup]}\n";

TEST_F(CountingSessionTest, CountersRunOnWhenNothingButTheTextHasChanged) {
  for (const std::string& text :
       {kGroups, "# what is counted\n\n" + kGroups, kGroups + "cgroups: {max: 256}\n"}) {
    EXPECT_TRUE(is_taken_over(kGroups, text)) << text;
  }
}

TEST_F(CountingSessionTest, TheFirstAndTheLastGroupOfCgroupsStartAgain) {
  const std::string cpus_only =
      "groups:\n  - {name: core, events: [cycles, cpu-clock], scope: [cpu]}\n";
  EXPECT_FALSE(is_taken_over(kGroups, cpus_only));
  EXPECT_FALSE(is_taken_over(cpus_only, kGroups));
}

/// It shows the CPU time in no counted cgroup.
TEST_F(CountingSessionTest, TheTreeIsKnownWhereNoEventOfItsGroupsCanBeCounted) {
  kernel_.refuse("cycles", ENOENT);
  const std::string software = "  - {name: software, events: [cpu-clock], scope: cpu}\n";
  const std::string refused =
      "groups:\n  - {name: core, events: [cycles], scope: cgroup, optional: true}\n" + software;

  const CountingSession session = start(refused);
  EXPECT_TRUE(session.basis.hierarchy);
  EXPECT_FALSE(session.basis.counts_cgroups);
  EXPECT_FALSE(is_taken_over(refused, "groups:\n" + software));
  EXPECT_FALSE(start(refused + "enabled: false\n").basis.hierarchy);
}

/// What becomes of a key that differs after a reload.
enum class Effect {
  kChanges,       ///< the collector that goes on gets another value in changes_of()
  kDescribes,     ///< the same, in the describer, whose value cannot be compared
  kNewCollector,  ///< it is a part of the basis
  kNone,          ///< the collector does not know it, or the same is counted all the same
};

struct ReloadedKey {
  std::string path;  ///< as in docs/configuration.md, without inner keys
  std::string after;
  Effect effect = Effect::kChanges;
  std::string before = kGroups;
};

std::string group_with(const std::string& more) {
  return "groups:\n  - {name: core, events: [cycles, branches], scope: [cpu, cgroup], " + more +
         "}\n";
}
ReloadedKey of_group(const std::string& path, const std::string& more,
                     Effect effect = Effect::kChanges) {
  return {"groups[]." + path, group_with(more), effect, group_with("weak: true")};
}
std::string event_with(const std::string& more) {
  return kGroups + "  - {name: more, events: [{event: \"sched:sched_switch\"" + more +
         "}], scope: cpu}\n";
}
std::string one_more(const std::string& group) { return kGroups + "  - {" + group + "}\n"; }
std::string labelled(const std::string& rule) {
  return kGroups + "cgroups: {labels: [{" + rule + "}]}\n";
}
std::string summed(const std::string& sum) {
  return kGroups + "cgroups: {sums: [{" + sum + "}]}\n";
}

ReloadedKey of_sum(const std::string& key, const std::string& sum) {
  return {"cgroups.sums[]." + key, summed(sum), Effect::kChanges, summed("name: app, by: [unit]")};
}

const std::string kMore = one_more("name: more, events: [page-faults], scope: cpu");

ReloadedKey of_more(const std::string& key, const std::string& group) {
  return {"groups[]." + key, one_more(group), Effect::kChanges, kMore};
}
ReloadedKey of_when(const std::string& key, const std::string& value) {
  return of_more("when." + key, "name: more, events: [page-faults], scope: cpu, when: {" + key +
                                    ": " + value + "}");
}
ReloadedKey of_event(const std::string& key, const std::string& value) {
  return {"groups[].events[]." + key, event_with(", " + key + ": " + value), Effect::kChanges,
          event_with("")};
}

std::vector<ReloadedKey> reloaded_keys() {
  using enum Effect;
  const std::string cycle = group_with("duty_cycle: {on: 2s, every: 9s}");
  const std::string rule = labelled("match: \"/a\", set: {team: x}");
  const std::string sum = summed("name: app, by: [unit]");
  return {
      {"requires", kGroups + "requires: 0.0.1\n", kNone},
      {"revision", kGroups + "revision: v2\n", kNone},
      {"enabled", kGroups + "enabled: false\n", kNewCollector},
      {"collection.interval", kGroups + "collection: {interval: 250ms}\n", kNone},
      {"collection.max_age", kGroups + "collection: {max_age: 2s}\n", kNone},
      {"cpus.exclude", kGroups + "cpus: {exclude: [\"7\"]}\n", kNewCollector},
      {"pmu.reserve", kGroups + "pmu: {reserve: 9}\n", kNone},
      of_more("name", "name: else, events: [page-faults], scope: cpu"),
      of_more("events", "name: more, events: [minor-faults], scope: cpu"),
      of_more("scope", "name: more, events: [page-faults], scope: cgroup"),
      of_group("optional", "optional: true", kNone),
      of_group("cpus.exclude", "cpus: {exclude: [\"0\"]}"),
      of_group("aggregate", "aggregate: host"),
      of_group("weak", "weak: false", kNone),
      of_group("pinned", "pinned: true"),
      of_group("exclusive", "exclusive: true"),
      of_group("estimator", "estimator: time", kNone),
      of_group("exclude_user", "exclude_user: true"),
      of_group("exclude_kernel", "exclude_kernel: true"),
      of_group("exclude_hypervisor", "exclude_hypervisor: true"),
      of_group("exclude_idle", "exclude_idle: true"),
      of_group("exclude_host", "exclude_host: true"),
      of_group("exclude_guest", "exclude_guest: true"),
      of_group("inherit", "inherit: false", kNone),
      of_more("events[].event", "name: more, events: [{event: minor-faults}], scope: cpu"),
      of_event("name", "a"),
      of_event("help", "a."),
      of_event("unit", "bytes"),
      of_event("scale", "2"),
      of_event("filter", "\"a == 0\""),
      of_when("vendor", "other"),
      of_when("cpus", "9"),
      of_when("virtual", "true"),
      of_when("pmu", "other"),
      of_when("kernel", "99.0"),
      {"groups[].duty_cycle.on", group_with("duty_cycle: {on: 3s, every: 9s}"), kChanges, cycle},
      {"groups[].duty_cycle.every", group_with("duty_cycle: {on: 2s, every: 8s}"), kChanges, cycle},
      {"cgroups.include", kGroups + "cgroups: {include: [\"/a/*\"]}\n"},
      {"cgroups.exclude", kGroups + "cgroups: {exclude: [\"/a/*\"]}\n"},
      {"cgroups.nesting", kGroups + "cgroups: {nesting: all}\n"},
      {"cgroups.helpers", kGroups + "cgroups: {helpers: true}\n"},
      {"cgroups.max", kGroups + "cgroups: {max: 7}\n"},
      {"cgroups.per_cpu", kGroups + "cgroups: {per_cpu: true}\n", kNewCollector},
      {"cgroups.linger", kGroups + "cgroups: {linger: 1s}\n"},
      {"cgroups.close_after", kGroups + "cgroups: {close_after: 1m}\n"},
      {"cgroups.open_after", kGroups + "cgroups: {open_after: 1s}\n"},
      {"cgroups.source", kGroups + "cgroups: {source: descriptors}\n"},
      {"cgroups.records_buffer", kGroups + "cgroups: {records_buffer: 1MiB}\n", kNewCollector},
      {"cgroups.labels", rule, kDescribes},
      {"cgroups.labels[].match", labelled("match: \"/b\", set: {team: x}"), kDescribes, rule},
      {"cgroups.labels[].set", labelled("match: \"/a\", set: {team: y}"), kDescribes, rule},
      {"cgroups.sums", sum},
      of_sum("name", "name: other, by: [unit]"),
      of_sum("by", "name: app, by: [slice]"),
      of_sum("max", "name: app, by: [unit], max: 7"),
      of_sum("idle", "name: app, by: [unit], idle: 2m"),
      of_sum("zero_for", "name: app, by: [unit], zero_for: 2s"),
      {"cgroups.container_names", kGroups + "cgroups: {container_names: [/names]}\n", kDescribes},
      {"cgroups.series", kGroups + "cgroups: {series: none}\n"},
      {"kubernetes.metadata", kGroups + "kubernetes: {metadata: log_links}\n", kDescribes},
      {"kubernetes.log_links", kGroups + "kubernetes: {log_links: /logs}\n", kDescribes},
      {"evidence.cgroups", kGroups + "evidence: {cgroups: none}\n"},
      {"evidence.variance", kGroups + "evidence: {variance: true}\n"},
      {"evidence.reference", kGroups + "evidence: {reference: true}\n"},
      {"guests", kGroups + "guests: count\n", kNone},
      {"truth_check", kGroups + "truth_check: off\n"},
      {"openmetrics.created", kGroups + "openmetrics: {created: true}\n"},
      {"limits.max_open_events", kGroups + "limits: {max_open_events: 9000}\n"},
      {"limits.max_series", kGroups + "limits: {max_series: 9000}\n"},
      {"limits.opens_per_second", kGroups + "limits: {opens_per_second: 9}\n"},
      {"limits.max_cgroup_directories", kGroups + "limits: {max_cgroup_directories: 7}\n",
       kNewCollector},
      {"limits.label_length", kGroups + "limits: {label_length: 99}\n", kNewCollector},
  };
}

bool are_equal(const collect::TargetTracker::Changes& one,
               const collect::TargetTracker::Changes& other) {
  const auto values = [](const collect::TargetTracker::Changes& changes) {
    return std::tie(*changes.plan, changes.selection, changes.linger, changes.idle.close_after,
                    changes.idle.open_after, changes.budget, changes.min_recorded);
  };
  return values(one) == values(other);
}

TEST_F(CountingSessionTest, EachKeyHasItsEffectAtAReload) {
  std::map<std::string, CountingSession> sessions;
  for (const ReloadedKey& key : reloaded_keys()) {
    const auto [before, is_first] = sessions.try_emplace(key.before);
    if (is_first) before->second = start(key.before);
    const CountingSession& in_force = before->second;
    plan::LoadedPlan after = planned(key.after);
    continue_plan(in_force.plan.counting, after.plan.counting);
    const CountingSession counting = *start_counting(after, roots_, kernel_, &in_force);

    EXPECT_EQ(counting.collector != nullptr, key.effect == Effect::kNewCollector) << key.path;
    if (key.effect == Effect::kNewCollector) continue;
    EXPECT_TRUE(counting.changes || key.effect == Effect::kNone) << key.path;
    const plan::LoadedPlan was{in_force.config, in_force.plan, after.cpus};
    EXPECT_EQ(are_equal(plan::changes_of(was), plan::changes_of(after)),
              key.effect != Effect::kChanges)
        << key.path;
  }
}

TEST_F(CountingSessionTest, NoKeyIsWithoutAnEffect) {
  const std::vector<ReloadedKey> tried = reloaded_keys();
  std::set<std::string> maps;
  for (const yaml::KeyReference& key : config::configuration_keys()) maps.insert(key.map);
  for (const yaml::KeyReference& key : config::configuration_keys()) {
    if (maps.contains(path_of(key)) || key.name == "groups") continue;
    EXPECT_NE(lookup(tried, &ReloadedKey::path, path_of(key)), nullptr)
        << "which effect has a reload that changes " << path_of(key) << "?";
  }
}

TEST_F(CountingSessionTest, CountsTheGroupsThatAreKeptOpenedAndClosed) {
  const std::string two = kGroups + "  - {name: other, events: [page-faults], scope: [cpu]}\n";

  CountingSession first = start(kGroups);
  CountingSession second = start(two, &first);
  CountingSession third = start(kGroups, &second);
  const CountingSession restarted = start(kGroups + "cpus: {exclude: [\"7\"]}\n", &third);

  EXPECT_THAT(first.groups, FieldsAre(0U, 2U, 0U));
  EXPECT_THAT(second.groups, FieldsAre(2U, 1U, 0U));
  EXPECT_THAT(third.groups, FieldsAre(2U, 0U, 1U));
  EXPECT_THAT(restarted.groups, FieldsAre(0U, 2U, 2U));
}

TEST_F(CountingSessionTest, AProbeInAFileThatMayHaveBeenReplacedIsOpenedAgain) {
  CountingSession in_force = start(kGroups);
  in_force.plan.counting.cpu.groups.front().events.front().attributes.probe = "/usr/bin/app";
  EXPECT_EQ(start(kGroups, &in_force).groups.kept, 1U);
}

TEST_F(CountingSessionTest, CgroupsThatCanBeCountedByNowRestartIt) {
  const test::TempTree bare{{"sys/devices/system/cpu/online", "0\n"}, {"proc/self/mountinfo", ""}};
  const host::HostRoots without{bare.path("sys"), bare.path("proc"), {}};
  CountingSession in_force = start(kGroups, nullptr, without);
  const collect::Collector* collector = in_force.collector.get();
  ASSERT_EQ(in_force.warnings.size(), 1U);

  EXPECT_NE(start(kGroups, &in_force).collector.get(), collector);
}

TEST_F(CountingSessionTest, AnEventThatTheMachineHasGainedIsOpened) {
  kernel_.refuse("cycles", ENOENT);
  CountingSession in_force = start(kGroups);
  kernel_.refuse("cycles", 0);

  EXPECT_GT(start(kGroups, &in_force).groups.opened, 0U);
}

}  // namespace
}  // namespace pex::daemon
