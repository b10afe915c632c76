#include <signal.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cli/standard_output.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/stat_counting.h"
#include "daemon/commands/stat_plan.h"
#include "daemon/commands/stat_report.h"
#include "daemon/commands/stat_wait.h"
#include "daemon/service/capabilities.h"
#include "host/process.h"
#include "host/self_process.h"
#include "perf/task/command.h"

namespace pex::daemon {
namespace {

/// A reading costs some microseconds for each event; a group that shares the PMU is on it some
/// times in each interval.
constexpr std::chrono::milliseconds kInterval{100};
constexpr int kNoSuchProgram = 127;  // as env(1) has them
constexpr int kNotExecutable = 126;
constexpr int kSignalled = 128;

using Clock = std::chrono::steady_clock;

int fail(const StatFailure& failure) {
  for (const Error& error : failure.errors) (void)daemon::fail(error);
  return failure.status;
}

void print(const Options& options, const StatReport& report) {
  // The standard output of a command is its own.
  std::ostream& out = report.command.empty() ? std::cout : std::cerr;
  if (report.end) out << '\n';  // its last line may have no end
  options.output == OutputFormat::kJson ? print_stat_json(out, report)
                                        : print_stat_table(out, report);
}

/// Counts until what is counted ends, or a signal.
class StatRun {
 public:
  StatRun(const Options& options, const StatSignals& signals, StatCounting counting)
      : options_(options), signals_(signals), counting_(std::move(counting)) {}

  int count(perf::Command& command);
  int count(int pid, perf::PerfKernel& kernel);

 private:
  int print_uncounted(StatReport report);
  void print_result(StatReport report, std::optional<std::chrono::nanoseconds> cpu_time);
  void read_cpu_time(int pid);
  void follow(perf::Command& command, const StatWait& wait);
  void follow(int pid, const StatWait& wait);

  const Options& options_;
  const StatSignals& signals_;
  StatCounting counting_;
  Clock::time_point started_ = Clock::now();
  std::optional<std::chrono::nanoseconds> cpu_time_;  ///< of a process, at the last reading
  PassedSignals passed_signals_;
};

int StatRun::count(perf::Command& command) {
  StatReport report;
  report.command = options_.stat_command;
  report.pid = command.pid();
  if (!counting_.counts_any()) return print_uncounted(std::move(report));
  started_ = Clock::now();
  const Result<StatWait> wait = StatWait::create(command.end_fd(), signals_.fd(), kInterval);
  if (!wait) return fail({{wait.error()}});
  if (const StatSignals::Signal signal = signals_.take(); signal.number != 0) {
    return fail({{{0, "interrupted before the command was run", {}}}, kSignalled + signal.number});
  }
  if (const Result<> started = command.start(); !started) {
    const int status = started.error().code == ENOENT ? kNoSuchProgram : kNotExecutable;
    return fail({{started.error()}, status});
  }
  follow(command, *wait);
  const Result<perf::CommandEnd> end = command.wait();
  if (end) report.end = *end;
  print_result(std::move(report),
               end ? std::optional(command.cpu_time()) : std::optional<std::chrono::nanoseconds>{});
  if (!end) return fail({{end.error()}});
  return end->shell_status();
}

int StatRun::count(int pid, perf::PerfKernel& kernel) {
  StatReport report;
  report.pid = pid;
  if (!counting_.counts_any()) return print_uncounted(std::move(report));
  const UniqueFd process = host::watch_process(pid);
  const Result<StatWait> wait =
      StatWait::create(process ? process.get() : -1, signals_.fd(), kInterval);
  if (!wait) return fail({{wait.error()}});
  if (const Result<> enabled = counting_.counters().enable(kernel); !enabled) {
    return fail({{enabled.error()}});
  }
  started_ = Clock::now();
  read_cpu_time(pid);
  const std::optional<std::chrono::nanoseconds> before = cpu_time_;
  follow(pid, *wait);
  read_cpu_time(pid);
  (void)counting_.counters().disable(kernel);  // so that all groups have the same end
  const bool is_known = before && *cpu_time_ > *before + host::kCpuTimeRounding;
  print_result(std::move(report), is_known
                                      ? std::optional(*cpu_time_ - *before - host::kCpuTimeRounding)
                                      : std::nullopt);
  return flush_output() ? kOk : kFailed;
}

/// The command is not run: its counts are why it was to be run here.
int StatRun::print_uncounted(StatReport report) {
  report.values = counting_.values();
  report.warnings = counting_.warnings();
  print(options_, report);
  (void)flush_output();
  return kFailed;
}

void StatRun::print_result(StatReport report, std::optional<std::chrono::nanoseconds> cpu_time) {
  report.elapsed = Clock::now() - started_;
  counting_.read();
  counting_.finish(cpu_time ? std::optional(StatUse{*cpu_time}) : std::nullopt);
  report.values = counting_.values();
  report.warnings = counting_.warnings();
  print(options_, report);
}

/// That of a process that is gone remains the last one.
void StatRun::read_cpu_time(int pid) {
  if (const auto time = host::cpu_time(options_.roots, pid)) cpu_time_ = *time;
}

/// Without a descriptor for its end, each interval looks for it.
void StatRun::follow(perf::Command& command, const StatWait& wait) {
  for (;;) {
    switch (wait.wait()) {
      case StatWait::Event::kEnded:
        return;
      case StatWait::Event::kSignal:
        if (const int signal = passed_signals_.pass(signals_.take(), Clock::now()); signal != 0) {
          (void)command.send_signal(signal);  // it may have ended, or changed its user
        }
        break;
      case StatWait::Event::kInterval:
        counting_.read();
        break;
    }
    const Result<std::optional<perf::CommandEnd>> end = command.poll_end();
    if (!end || *end) return;
  }
}

void StatRun::follow(int pid, const StatWait& wait) {
  while (wait.wait() == StatWait::Event::kInterval && host::process_exists(pid)) {
    counting_.read();
    read_cpu_time(pid);
  }
}

/// Of this process; the command has been forked, and keeps what it was given. No capability is
/// dropped: any may be needed for a process of another user, and any event.
void prepare_to_count() {
  ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, the kernel does not keep the command's status
  host::raise_open_file_limit();
  const Result<> raised = limit_capabilities(~std::uint64_t{0});
  if (!raised) (void)daemon::fail(raised.error());
}

/// A user who executes a file with a capability may count processes of his own by it.
Result<> may_count(int pid) {
  const bool is_of_another = pid != 0 && host::process_exists(pid) &&
                             host::has_rights_by_its_file() && !host::is_of_this_user(pid);
  if (!is_of_another) return {};
  return Error{EPERM,
               "count process " + std::to_string(pid) +
                   " of another user by the capability of the program's file",
               "run it as that user, or as root"};
}

}  // namespace

int run_stat(const Options& options, perf::PerfKernel& kernel) {
  const Result<StatSignals> signals = StatSignals::create();
  if (!signals) return fail({{signals.error()}});
  if (const Result<> allowed = may_count(options.stat_pid); !allowed) {
    return fail(StatFailure{{allowed.error()}});
  }
  std::optional<perf::Command> command;
  if (!options.stat_command.empty()) {
    Result<perf::Command> prepared =
        perf::Command::prepare(options.stat_command, perf::Command::Outlives::kNothing);
    if (!prepared) return fail({{prepared.error()}});
    command = *std::move(prepared);
  }
  prepare_to_count();
  Result<StatPlan, StatFailure> planned = plan_stat(options, kernel);
  if (!planned) return fail(planned.error());
  Result<perf::TaskCounters> counters =
      command ? perf::TaskCounters::of_command(kernel, *command, planned->groups.groups)
              : perf::TaskCounters::of_process(kernel, options.roots, options.stat_pid,
                                               planned->groups.groups);
  if (!counters) return fail({{counters.error()}});
  // It may have executed a set-user-ID program before its counters were opened, which end with
  // that.
  if (const Result<> allowed = may_count(options.stat_pid); !allowed) {
    return fail(StatFailure{{allowed.error()}});
  }
  StatRun run{options, *signals,
              StatCounting{std::move(planned->plan), std::move(planned->groups),
                           *std::move(counters), kernel}};
  return command ? run.count(*command) : run.count(options.stat_pid, kernel);
}

}  // namespace pex::daemon
