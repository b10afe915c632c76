#include "daemon/doctor/doctor.h"

#include <iostream>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/doctor/checks.h"
#include "host/kernel_version.h"
#include "host/self_process.h"

namespace pex::daemon {
namespace {

using State = Finding::State;

/// All checks, ordered so that a finding may explain the next one.
using Subject = Findings (*)(const CheckInputs&);
constexpr Subject kSubjects[] = {
    check_kernel,
    check_cpus,
    check_perf_event_open,
    check_paranoid,
    check_capabilities,
    check_seccomp,
    check_tracefs,
    check_pmus,
    check_free_counters,
    check_hidden_events,  // a comment keeps them in one column
    check_other_users,
    check_nmi_watchdog,
    check_mux_interval,
    check_cgroup_times,
    check_activity_reference,
    check_sampling,
    check_switch_records,
    check_cgroups,
    check_uncounted,
    check_open_files,
    check_configuration,
};

std::string summary(const Findings& findings, const Options& options) {
  const std::size_t bad = count(findings, State::kBad);
  const std::string verdict =
      bad == 0
          ? "everything in " + name_of_config(options) + " that this machine has can be counted"
          : "not everything in " + name_of_config(options) + " can be counted here";
  return number(count(findings, State::kGood)) + " ok, " +
         number(count(findings, State::kUnknown)) + " unknown, " +
         number_of(count(findings, State::kNote), "note") + ", " + number(bad) + " bad: " + verdict;
}

}  // namespace

bool run_bound_to(int cpu, const std::function<void()>& job) {
  bool is_bound = false;
  const auto bind_and_run = [&] {
    is_bound = host::bind_thread_to(cpu);
    if (is_bound) job();
  };
  try {
    std::thread{bind_and_run}.join();
  } catch (const std::system_error&) {  // no thread is available
  }
  return is_bound;
}

std::vector<Finding> check_all(const Options& options, perf::PerfKernel& kernel, const Self& self) {
  const CheckInputs here = check_inputs(options, kernel, self);
  Findings findings;
  for (const Subject subject : kSubjects) {
    const Findings found = subject(here);
    findings.insert(findings.end(), found.begin(), found.end());
  }
  return findings;
}

Self this_process() {
  return {host::kernel_release(), host::own_permissions(), host::own_file_limit(),
          host::self_perf_cgroup()};
}

ExitStatus run_doctor(const Options& options, perf::PerfKernel& kernel) {
  const Findings findings = check_all(options, kernel, this_process());
  std::cout << format_findings(findings) << '\n' << printable(summary(findings, options)) << '\n';
  print_note_for_root("doctor", options);
  const bool printed = flush_output();
  return printed && count(findings, State::kBad) == 0 ? kOk : kFailed;
}

}  // namespace pex::daemon
