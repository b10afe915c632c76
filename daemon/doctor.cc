#include "daemon/doctor.h"

#include <iostream>
#include <system_error>
#include <thread>

#include "base/utf8.h"
#include "daemon/examination.h"
#include "host/own_process.h"

namespace pex::daemon {
namespace {

using State = Finding::State;

/// What is looked at, in the order in which one thing explains the next.
using Subject = Findings (*)(const Examination&);
constexpr Subject kSubjects[] = {
    on_kernel,
    on_cpus,
    on_perf_event_open,
    on_paranoid,
    on_capabilities,
    on_seccomp,
    on_tracefs,
    on_pmus,
    on_free_counters,
    on_nmi_watchdog,
    on_mux_interval,
    on_cgroup_times,
    on_activity_reference,
    on_cgroups,
    on_open_files,
    on_configuration,
};

std::string summary(const Findings& findings, const Options& options) {
  const std::size_t bad = count(findings, State::kBad);
  const std::string verdict = options.config_file.empty()
                                  ? std::string("what the embedded default has for this machine ") +
                                        (bad == 0 ? "is counted" : "is not all counted")
                                  : (bad == 0 ? "everything in '" : "not everything in '") +
                                        options.config_file + "' can be counted here";
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
  } catch (const std::system_error&) {  // no thread to be had
  }
  return is_bound;
}

std::vector<Finding> examine(const Options& options, perf::PerfKernel& kernel, const Self& self) {
  const Examination here = look_at(options, kernel, self);
  Findings findings;
  for (const Subject subject : kSubjects) {
    const Findings found = subject(here);
    findings.insert(findings.end(), found.begin(), found.end());
  }
  return findings;
}

ExitStatus run_doctor(const Options& options, perf::PerfKernel& kernel) {
  const Self self{host::kernel_release(), host::own_permissions(), host::own_file_limit(),
                  host::own_perf_cgroup()};
  const Findings findings = examine(options, kernel, self);
  std::cout << format_findings(findings) << '\n' << printable(summary(findings, options)) << '\n';
  const bool printed = static_cast<bool>(std::cout << std::flush);
  return printed && count(findings, State::kBad) == 0 ? kOk : kFailed;
}

}  // namespace pex::daemon
