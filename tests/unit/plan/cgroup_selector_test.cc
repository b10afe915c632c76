#include "plan/cgroup_selector.h"

#include "config/load.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr config::PodMetadata kWithPods = config::PodMetadata::kLogLinks;

/// What an operator has written behind "cgroups:", which starts on line 3.
config::Cgroups cgroups(const std::string& yaml) {
  const config::Loaded loaded = config::load_text(
      "groups: [{name: a, events: [x], scope: cgroup}]\ncgroups:\n" + yaml, "c.yaml");
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors())
    ADD_FAILURE() << describe(error);
  return loaded.config.cgroups;
}

SelectedCgroups choice(const std::string& yaml) {
  const auto chosen = select_cgroups(cgroups(yaml), kWithPods);
  if (chosen) return *chosen;
  for (const yaml::Diagnostic& error : chosen.error()) ADD_FAILURE() << describe(error);
  return {};
}

std::vector<std::string> errors(const std::string& yaml, config::PodMetadata metadata = kWithPods) {
  std::vector<std::string> all;
  const auto chosen = select_cgroups(cgroups(yaml), metadata);
  if (chosen) return all;
  for (const yaml::Diagnostic& error : chosen.error()) all.push_back(describe(error));
  return all;
}

TEST(CgroupSelectorTest, SelectsByPatternsOfBothKinds) {
  const cgroup::Selection selection =
      choice("  include: [/a/*, 're:/b/.*']\n  exclude: [/a/x, 're:/b/.*[.]mount']\n").selection;

  EXPECT_TRUE(selection.matches("/a/1"));
  EXPECT_TRUE(selection.matches("/b/1/2"));
  EXPECT_FALSE(selection.matches("/a/x"));
  EXPECT_FALSE(selection.matches("/b/1.mount"));
}

TEST(CgroupSelectorTest, SelectsLeavesAndNoHelpersUnlessAskedTo) {
  const cgroup::Selection by_default = choice("  max: 1\n").selection;
  const cgroup::Selection asked = choice("  nesting: all\n  helpers: true\n").selection;

  EXPECT_TRUE(by_default.leaves && !by_default.helpers);
  EXPECT_TRUE(!asked.leaves && asked.helpers);
}

TEST(CgroupSelectorTest, GivesTheLabelsOfTheRules) {
  const cgroup::LabelRules labels = choice(
                                        "  labels:\n"
                                        "    - match: 're:/system[.]slice/(.+)-db[.]service'\n"
                                        "      set: {team: $1, tier: db}\n"
                                        "    - {match: /**, set: {team: none}}\n")
                                        .labels;

  EXPECT_THAT(labels.labels_of("/system.slice/shop-db.service"),
              ElementsAre(Pair("team", "shop"), Pair("tier", "db")));
  EXPECT_THAT(labels.labels_of("/a"), ElementsAre(Pair("team", "none")));
}

TEST(CgroupSelectorTest, ReportsAllErrorsInTheOrderOfTheFile) {
  EXPECT_THAT(
      errors("  labels:\n"
             "    - match: 're:/(a'\n"
             "      set: {cgroup: x, team: $}\n"
             "    - match: 're:/(a)'\n"
             "      set: {team: $2, tier: $1}\n"
             "    - match: /a/*\n"
             "      set: {team: \"$1\"}\n"
             "  exclude: ['re:/a(?!b)']\n"
             "  include: [/a, 're:system.slice/.*', /b/]\n"),
      ElementsAre(
          "c.yaml:4:14: cgroups.labels[0].match: 're:/(a' is not a regular expression: missing ): "
          "/(a. Remedy: add a ')', or write \\( for the character",
          "c.yaml:5:21: cgroups.labels[0].set.cgroup: 'cgroup' is a label of the exporter. "
          "Remedy: give it another name",
          "c.yaml:5:30: cgroups.labels[0].set.team: '$' contains a '$' without a meaning. "
          "Remedy: write $1 to $9 for a group, $0 for the whole path, $$ for a dollar",
          "c.yaml:7:19: cgroups.labels[1].set.team: '$2' contains $2, and its pattern has one "
          "group. "
          "Remedy: add a group in parentheses to the pattern, which must start with re:",
          "c.yaml:9:19: cgroups.labels[2].set.team: '$1' contains $1, and its pattern has no "
          "groups. "
          "Remedy: add a group in parentheses to the pattern, which must start with re:",
          "c.yaml:10:13: cgroups.exclude[0]: 're:/a(?!b)' is not a regular expression: invalid "
          "perl "
          "operator: (?!. Remedy: RE2 cannot look ahead or behind; leave out with 'exclude' "
          "instead",
          "c.yaml:11:17: cgroups.include[1]: 're:system.slice/.*' matches no path, as each starts "
          "with '/'. Remedy: start it with '/', or with '.*/' for any depth",
          "c.yaml:11:39: cgroups.include[2]: '/b/' matches no path, as no name between slashes is "
          "empty. Remedy: remove the superfluous '/'"));
}

TEST(CgroupSelectorTest, KeepsToOneLineWhateverThePatternIs) {
  config::Cgroups hostile;
  hostile.include = {{"re:/[\n\x1b" + std::string(1000, 'a'), {"c.yaml", 1, 2, "k"}}};

  const auto chosen = select_cgroups(hostile, config::PodMetadata::kNone);

  ASSERT_FALSE(chosen);
  ASSERT_EQ(chosen.error().size(), 1U);
  EXPECT_EQ(describe(chosen.error().front()),
            "c.yaml:1:2: k: 're:/[\\n\\x1b" + std::string(53, 'a') +
                "...' is not a regular expression: missing ]. Remedy: add a ']', or write \\[ for "
                "the character");
}

TEST(CgroupSelectorTest, LeavesTheLabelsOfTheExporterAndOfTheTargetAlone) {
  const auto expect_refused = [](const std::string& name, const std::string& why) {
    EXPECT_THAT(errors("  labels: [{match: /a, set: {team: t, " + name + ": x}}]\n"),
                ElementsAre("c.yaml:3:" + std::to_string(41 + name.size()) +
                            ": cgroups.labels[0].set." + name + ": '" + name + "' is a label " +
                            why + ". Remedy: give it another name"));
  };

  for (const char* name :
       {"cgroup",    "cpu",          "core",      "die",       "package",  "numa_node",
        "pmu",       "group",        "event",     "domain",    "pod",      "namespace",
        "container", "container_id", "pod_uid",   "qos_class", "runtime",  "unit",
        "slice",     "machine",      "slurm_job", "le",        "quantile", "sum"}) {
    expect_refused(name, "of the exporter");
  }
  for (const char* name : {"job", "instance", "cluster"}) {
    expect_refused(name, "that Prometheus sets on each target");
  }
  EXPECT_THAT(errors("  labels: [{match: /a, set: {cgroups: x, jobs: y}}]\n"), IsEmpty());
}

TEST(CgroupSelectorTest, SumsAreByLabelsThatACgroupCanHave) {
  collect::SumPlan expected;
  expected.name = "team";
  expected.labels = {"team", "namespace", "unit"};
  expected.max = 7;
  expected.idle = std::chrono::minutes{5};
  expected.zero_for = std::chrono::seconds{30};

  EXPECT_THAT(
      choice(
          "  labels: [{match: /a, set: {team: web}}]\n"
          "  sums: [{name: team, by: [team, namespace, unit], max: 7, idle: 5m, zero_for: 30s}]\n")
          .sums,
      ElementsAre(expected));
}

TEST(CgroupSelectorTest, ThereIsOneSumWithoutLabels) {
  const std::vector<collect::SumPlan> sums = choice("  sums: [{name: all, by: [], max: 7}]\n").sums;

  ASSERT_THAT(sums, SizeIs(1));
  EXPECT_THAT(sums[0].labels, IsEmpty());
  EXPECT_EQ(sums[0].max, 1U);
}

TEST(CgroupSelectorTest, ReportsSumsThatCannotBe) {
  EXPECT_THAT(
      errors("  sums:\n"
             "    - {name: cgroup, by: [unit]}\n"
             "    - {name: event_x, by: [unit]}\n"
             "    - {name: team, by: [team]}\n"
             "    - {name: team, by: [unit]}\n"),
      ElementsAre(
          "c.yaml:4:7: cgroups.sums[0]: metrics with the name 'cgroup' are the exporter's. Remedy: "
          "give the sum another name",
          "c.yaml:5:7: cgroups.sums[1]: metrics with the name 'event_x' are the exporter's. "
          "Remedy: "
          "give the sum another name",
          "c.yaml:6:25: cgroups.sums[2].by[0]: no cgroup has the label 'team'. Remedy: use "
          "container_id, pod_uid, qos_class, runtime, unit, slice, machine, uid, session, "
          "slurm_job, slurm_step, batch_job, ecs_task, pod, namespace, container, or a label that "
          "'cgroups.labels' sets",
          "c.yaml:7:7: cgroups.sums[3]: there are two sums with the name 'team'. Remedy: give one "
          "of "
          "them another name"));
}

const std::string kId(64, 'c');
const std::string kTask(32, 'd');

TEST(DefaultSelectionTest, TakesServicesContainersAndMachinesOfEveryLayout) {
  const cgroup::Selection selection = choice("  max: 1\n").selection;
  const std::string uid = "0f2a1b3c_4d5e_6789_abcd_ef0123456789";
  const std::string user = "/user.slice/user-1000.slice/user@1000.service";
  const std::string paths[] = {
      // systemd
      "/init.scope",
      "/system.slice/cron.service",
      "/system.slice/system-getty.slice/getty@tty1.service",
      "/a.slice/a-b.slice/a-b-c.slice/web.service",
      "/system.slice/run-u12.scope",
      "/user.slice/user-1000.slice/session-3.scope",
      user,
      // kubelet, systemd driver
      "/kubepods.slice/kubepods-pod" + uid + ".slice/cri-containerd-" + kId + ".scope",
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid + ".slice/crio-" +
          kId + ".scope",
      "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + uid + ".slice/docker-" +
          kId + ".scope",
      "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + uid +
          ".slice/cri-containerd-" + kId + ".scope",
      // kubelet, cgroupfs driver
      "/kubepods/pod" + uid + "/" + kId,
      "/kubepods/burstable/pod" + uid + "/" + kId,
      "/kubepods/besteffort/pod" + uid + "/crio-" + kId,
      // containerd without a slice
      "/kubepods-burstable-pod" + uid + ".slice:cri-containerd:" + kId,
      "/system.slice/containerd.service/kubepods-pod" + uid + ".slice:cri-containerd:" + kId,
      // containers that run containers
      "/docker/" + kId + "/kubepods/burstable/pod" + uid + "/" + kId,
      "/system.slice/docker-" + kId + ".scope/kubelet.slice/kubelet-kubepods.slice/x.slice/" +
          "cri-containerd-" + kId + ".scope",
      "/docker/" + kId + "/docker/" + kId,
      // Docker, Podman, nerdctl, Kata
      "/docker/" + kId,
      "/system.slice/docker-" + kId + ".scope",
      "/system.slice/nerdctl-" + kId + ".scope",
      "/default/" + kId,
      "/machine.slice/libpod-" + kId + ".scope",
      "/machine.slice/machine-libpod_pod_" + kId + ".slice/libpod-" + kId + ".scope",
      "/libpod_parent/libpod-" + kId,
      user + "/user.slice/libpod-" + kId + ".scope",
      "/system.slice/web.service/libpod-payload-" + kId,
      "/kubepods/pod" + uid + "/kata_" + kId,
      // machines
      "/machine.slice/machine-qemu\\x2d1\\x2dweb.scope",
      "/machine.slice/systemd-nspawn@web.service",
      "/machine.slice/machine-web.scope",
      "/machine/qemu-1-web.libvirt-qemu",
      "/machine/shop.partition/qemu-1-web.libvirt-qemu",
      "/qemu.slice/101.scope",
      "/lxc/101",
      "/lxc.payload/web",
      "/lxc.payload.web",
      // Slurm
      "/system.slice/slurmstepd.scope/job_8",
      "/system.slice/n1_slurmstepd.scope/job_8",
      "/slurm/uid_1000/job_8",
      "/slurm_n1/uid_1000/job_8",
      "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00",
      "/system.slice/n1_slurmstepd.scope/s5K1KKYAYG5D01",
      "/slurmstepd.scope/job_8",
      "/hpc.slice/hpc-batch.slice/n1_slurmstepd.scope/job_8",
      "/hpc.slice/slurmstepd.scope/s5K1KKYAYG5D02",
      // HTCondor, OpenPBS, LSF
      "/system.slice/condor.service/condor_var_lib_condor_execute_slot1_1@n1",
      "/htcondor/condor_var_lib_condor_execute_slot1_2@n1",
      "/pbs_jobs.service/jobid/42.server",
      "/lsf/main/job.42.1234.1796000000",
      // builds, Kata, Firecracker, Talos, OpenRC
      "/docker/buildkit/ypnhhssjq3ga0nwqllrmkp7mo",
      "/system.slice:docker:q1w2e3r4t5y6u7i8o9p0a1s2d",
      "/buildkit/ypnhhssjq3ga0nwqllrmkp7mo",
      "/pool/buildkit/ypnhhssjq3ga0nwqllrmkp7mo",
      "/ci.slice:buildkit:ypnhhssjq3ga0nwqllrmkp7mo",
      "/kata_overhead/" + kId,
      "/kata.slice/kata-overhead.slice/runtime-rs-" + kId + ".scope",
      "/kata-overhead.slice:runtime-rs:" + kId,
      "/firecracker/web-1",
      "/firecracker-v1.10.1-x86_64/web-1",
      "/machine/ch-1-web.libvirt-ch",
      "/init",
      "/system/apid",
      "/podruntime/kubelet",
      "/openrc.sshd",
      // ECS
      "/ecs/" + kTask + "/" + kId,
      "/ecs/web/" + kTask + "/" + kId,
      "/ecs/" + kTask + "/" + kTask + "-1234567890",
      "/ecstasks.slice/ecstasks-" + kTask + ".slice/docker-" + kId + ".scope",
  };

  for (const std::string& path : paths) EXPECT_TRUE(selection.matches(path)) << path;
}

TEST(DefaultSelectionTest, TakesNoSlicesPartsOrHelpers) {
  const cgroup::Selection selection = choice("  max: 1\n").selection;
  const std::string paths[] = {
      "/",
      "/system.slice",
      "/user.slice/user-1000.slice",
      "/dev-hugepages.mount",
      "/system.slice/tmp.mount",
      "/system.slice/swap.swap",
      // what a service, session or container does with cgroups of its own
      "/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service",
      "/user.slice/user-1000.slice/user@1000.service/init.scope",
      "/system.slice/docker-" + kId + ".scope/init.scope",
      "/lxc.payload.web/system.slice/cron.service",
      "/machine.slice/libpod-" + kId + ".scope/container",
      "/machine.slice/systemd-nspawn@web.service/payload",
      "/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt/vcpu0",
      // groups of containers
      "/kubepods",
      "/kubepods.slice/kubepods-burstable.slice",
      "/kubepods/burstable/pod0f2a1b3c-4d5e-6789-abcd-ef0123456789",
      "/machine.slice/machine-libpod_pod_" + kId + ".slice",
      "/docker",
      "/lxc",
      "/ecs/" + kTask,
      "/slurm/uid_1000",
      "/slurm/uid_1000/job_8/step_0",
      "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0",
      "/docker/buildkit",
      "/buildkit",
      "/firecracker-v1.10.1-x86_64",
      "/slurmstepd.scope/job_8/step_0",
      "/lsf/main",
      "/podruntime",
      // helpers
      "/system.slice/slurmstepd.scope/system",
      "/kubepods.slice/kubepods-podx.slice/crio-conmon-" + kId + ".scope",
      "/machine.slice/libpod-conmon-" + kId + ".scope",
      "/lxc.monitor.web",
  };

  for (const std::string& path : paths) EXPECT_FALSE(selection.matches(path)) << path;
}

TEST(SumsTest, OfLabelsOfPodsNeedTheNamesOfPods) {
  EXPECT_THAT(errors("  sums: [{name: a, by: [namespace]}]\n", config::PodMetadata::kNone),
              ElementsAre(::testing::HasSubstr(
                  "no cgroup has the label 'namespace'. Remedy: write kubernetes: {metadata")));
}

}  // namespace
}  // namespace pex::plan
