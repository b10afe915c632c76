#include <linux/perf_event.h>

#include <cerrno>

#include "support/forwarding_kernel.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/daemon/polled_app.h"

// Machines of public bug reports, in a few files of sysfs each: what is published there.

namespace pex::daemon {
namespace {

using ::testing::HasSubstr;

/// Opens software events only, or nothing.
class RefusingKernel final : public test::ForwardingKernel {
 public:
  RefusingKernel(perf::PerfKernel& kernel, int code, bool refuses_software)
      : ForwardingKernel(kernel), code_(code), refuses_software_(refuses_software) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    const bool is_software = request.event.type == PERF_TYPE_SOFTWARE;
    if (code_ != 0 && (refuses_software_ || !is_software)) return Error{code_, "", {}};
    return ForwardingKernel::open(request);
  }

 private:
  int code_;
  bool refuses_software_;
};

struct ReportedMachine {
  const char* name;
  int packages[4];                                        ///< of CPUs 0-3
  std::vector<std::pair<const char*, const char*>> pmus;  ///< files and texts
  const char* groups;
  std::vector<const char*> published;
  std::vector<const char*> opened = {};
  int refusal = 0;  ///< an errno
  bool refuses_software = false;
};

const ReportedMachine kMachines[] = {
    {"two sockets of Grace, and Zen 5's data fabric",
     {36, 36, 2364, 2364},
     {{"nvidia_scf_pmu_0/type", "20"},
      {"nvidia_scf_pmu_0/cpumask", "0"},
      {"nvidia_scf_pmu_0/format/event", "config:0-31"},
      {"nvidia_scf_pmu_0/events/cmem_rd_data", "event=0x1a5"},
      {"nvidia_scf_pmu_1/type", "21"},
      {"nvidia_scf_pmu_1/cpumask", "2"},
      {"nvidia_scf_pmu_1/format/event", "config:0-31"},
      {"nvidia_scf_pmu_1/events/cmem_rd_data", "event=0x1a5"},
      {"amd_df/type", "22"},
      {"amd_df/cpumask", "0,2"},
      {"amd_df/format/event", "config:0-7,32-37"},
      {"amd_df/format/umask", "config:8-15,24-27"}},
     "[nvidia_scf_pmu/cmem_rd_data/, 'amd_df/event=0x1f1f,umask=0xffe,name=df/']",
     {"perf_nvidia_scf_pmu_cmem_rd_data_total{package=\"36\"} ",
      "perf_nvidia_scf_pmu_cmem_rd_data_total{package=\"2364\"} ",
      "perf_df_total{package=\"2364\"} "},
     {"cpu0 type20:0x1a5", "cpu2 type21:0x1a5", "cpu2 type22:0x1f0f00fe1f"}},
    {"three kinds of cores",
     {},
     {{"cpu_core/type", "4"},
      {"cpu_core/cpus", "0"},
      {"cpu_core/format/event", "config:0-7"},
      {"cpu_core/events/slots", "event=0x4"},
      {"cpu_core/events/topdown-retiring", "event=0x80"},
      {"cpu_atom/type", "10"},
      {"cpu_atom/cpus", "1-2"},
      {"cpu_atom/format/event", "config:0-7"},
      {"cpu_atom/events/topdown-retiring", "event=0xc2"},
      {"cpu_lowpower/type", "11"},
      {"cpu_lowpower/cpus", "3"},
      {"cpu_lowpower/format/event", "config:0-7"},
      {"cpu_lowpower/events/topdown-retiring", "event=0x72"},
      {"cstate_module/type", "30"},
      {"cstate_module/cpumask", "1,3"},
      {"cstate_module/events/c1-residency", "config=0"}},
     "[cycles, slots, topdown-retiring, cstate_module/c1-residency/]",
     {"perf_cpu_cycles_total{cpu=\"3\",pmu=\"cpu_lowpower\"} ",
      "perf_cpu_slots_total{cpu=\"0\",pmu=\"cpu_core\"} ",
      "perf_cpu_topdown_retiring_total{cpu=\"2\",pmu=\"cpu_atom\"} ",
      "perf_cstate_module_c1_residency_total{package=\"0\"} "},
     {"cpu3 type0:0xb00000000", "cpu1 type30:0x0", "cpu3 type30:0x0"}},
    {"graphics, a memory controller and cores with units",
     {},
     {{"i915_0000_03_00.0/type", "20"},
      {"i915_0000_03_00.0/cpumask", "0"},
      {"i915_0000_03_00.0/events/rcs0-busy", "config=0x0"},
      {"i915_0000_03_00.0/events/rcs0-busy.unit", "ns"},
      {"xe_0000_00_02.0/type", "21"},
      {"xe_0000_00_02.0/cpumask", "0"},
      {"xe_0000_00_02.0/format/gt", "config:60-63"},
      {"xe_0000_00_02.0/events/gt-actual-frequency", "config=0x4"},
      {"xe_0000_00_02.0/events/gt-actual-frequency.unit", "MHz"},
      {"meson_ddr_bw/type", "22"},
      {"meson_ddr_bw/cpumask", "0"},
      {"meson_ddr_bw/events/total_rw_bytes", "config=0x0"},
      {"meson_ddr_bw/events/total_rw_bytes.unit", "MB"},
      {"meson_ddr_bw/events/total_rw_bytes.scale", " +1.52587890625e-05 "},
      {"power_core/type", "23"},
      {"power_core/cpumask", "0-3"},
      {"power_core/events/energy-core", "config=0x1"},
      {"power_core/events/energy-core.unit", "Joules"}},
     "[i915_0000_03_00.0/rcs0-busy/, 'xe_0000_00_02.0/gt-actual-frequency,gt=0/', "
     "meson_ddr_bw/total_rw_bytes/, power_core/energy-core/]",
     {"perf_i915_rcs0_busy_seconds_total{package=\"0\",pmu=\"i915_0000_03_00.0\"} ",
      "perf_xe_gt_actual_frequency_hertz_total{package=\"0\",pmu=\"xe_0000_00_02.0\",gt=\"0\"} ",
      "perf_meson_ddr_bw_total_rw_bytes_total{package=\"0\"} ",
      "perf_energy_joules_total{package=\"0\",domain=\"core\"} "}},
    {"WSL2 without counters",
     {},
     {{"software/type", "1"}, {"msr/type", "6"}},
     "[cycles, context-switches]",
     {"perf_cpu_context_switches_total{cpu=\"3\"} ",
      "refusal_info{event=\"cycles\",scope=\"cpu\",errno=\"ENOENT\",remedy=\"no\"} 1"},
     {},
     ENOENT},
    {"gVisor",
     {},
     {},
     "[cycles, context-switches]",
     {"refusal_info{event=\"context-switches\",scope=\"cpu\",errno=\"ENOSYS\",remedy=\"yes\"} 1",
      "perf_event_exporter_counting 0"},
     {},
     ENOSYS,
     true},
    {"Ubuntu with kernel.perf_event_paranoid=4",
     {},
     {{"cpu/type", "4"}, {"software/type", "1"}},
     "[cycles, context-switches]",
     {"refusal_info{event=\"cycles\",scope=\"cpu\",errno=\"EACCES\",remedy=\"yes\"} 1",
      "perf_event_exporter_counting 0"},
     {},
     EACCES,
     true},
};

TEST(ReportedMachinesTest, PublishWhatTheyHaveAndWhyTheRestIsNotCounted) {
  for (const ReportedMachine& machine : kMachines) {
    test::TempTree tree{{"sys/devices/system/cpu/online", "0-3\n"}, {"cgroup/"}};
    for (int cpu = 0; cpu < 4; ++cpu) {
      tree.write(
          "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
          std::to_string(machine.packages[cpu]) + "\n");
    }
    for (const auto& [file, text] : machine.pmus) {
      tree.write("sys/bus/event_source/devices/" + std::string(file), std::string(text) + "\n");
    }
    tree.write("config.yaml", "collection: {max_age: 1h}\ngroups: [{name: g, scope: cpu, events: " +
                                  std::string(machine.groups) + "}]\n");
    const Options options = options_in(tree);
    test::ScriptedKernel scripted{options.roots.cgroupfs};
    RefusingKernel kernel{scripted, machine.refusal, machine.refuses_software};
    PolledApp app{options, kernel};
    ASSERT_THAT(app.start(), ::testing::IsEmpty()) << machine.name;
    app.poll();
    app.poll();  // a first interval ends here

    const std::string text = app.scrape();
    for (const char* line : machine.published) EXPECT_THAT(text, HasSubstr(line)) << machine.name;
    for (const char* group : machine.opened) {
      EXPECT_THAT(scripted.open_groups(), ::testing::Contains(group)) << machine.name;
    }
  }
}

}  // namespace
}  // namespace pex::daemon
