#include <signal.h>

#include "daemon/commands/commands.h"
#include "daemon/commands/health.h"
#include "daemon/commands/machine_record.h"
#include "daemon/doctor/doctor.h"
#include "daemon/log/fatal_errors.h"
#include "daemon/log/stderr_text.h"
#include "daemon/service/capabilities.h"
#include "daemon/service/capability_needs.h"
#include "daemon/service/signals.h"
#include "perf/linux_perf_kernel.h"

int main(int argc, char** argv) {
  using namespace pex::daemon;
  const HeldSignals held;         // from the beginning: they may arrive at any time
  open_missing_standard_files();  // before anything else opens a descriptor
  install_fatal_error_handlers(LogFormat::kLogfmt);
  ::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of that write, not our end
  const auto parsed = parse_command_line(argc, argv);
  if (const ExitStatus* done = std::get_if<ExitStatus>(&parsed)) return *done;

  const Options& options = std::get<Options>(parsed);
  if (!serves(options)) held.restore();
  install_fatal_error_handlers(options.log_format);
  if (options.health) return check_health(options);
  if (options.reset) return reset_crashes(options);
  // Never destroyed: a thread that hangs in the kernel may return after everything else is
  // destroyed.
  static auto& kernel = *new pex::perf::LinuxPerfKernel;
  if (options.stat) return run_stat(options, kernel);  // its command has all our rights
  // While there is one thread: the log starts another.
  const pex::Result<> limited = limit_capabilities(capabilities_kept(capability_needs(options)));
  Log log{options.log_level, options.log_format};
  if (!limited) log.warn(limited.error());
  if (options.check_config) return check_config(options, kernel);
  if (options.size) return print_size(options, kernel);
  const bool is_json = options.output == OutputFormat::kJson;
  if (options.doctor) return is_json ? print_machine(options, kernel) : run_doctor(options, kernel);
  if (options.list_cgroups) return list_cgroups(options, kernel, log);
  if (options.list_events) return list_events(options, kernel, log);
  if (options.once) return scrape_once(options, kernel, log);
  return serve(options, kernel, log);
}
