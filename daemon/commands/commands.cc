#include "daemon/commands/commands.h"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <iostream>
#include <memory>
#include <string>

#include "daemon/cli/standard_output.h"
#include "daemon/run/app.h"
#include "host/self_process.h"

namespace pex::daemon {
namespace {

/// Asio throws if no thread or descriptor is left for its pools.
Result<std::unique_ptr<App>> make_app(boost::asio::io_context& loop, const Options& options,
                                      perf::PerfKernel& kernel, Log& log) {
  try {
    return std::make_unique<App>(loop, options, kernel, log);
  } catch (const boost::system::system_error& refused) {
    const int code = refused.code().value();
    if (code == EAGAIN) {
      return Error{code, "start the threads that render, check passwords and reload",
                   host::thread_remedy()};
    }
    const char* const remedy = code == EMFILE   ? "raise LimitNOFILE= in the unit, or ulimit -n"
                               : code == ENFILE ? "raise fs.file-max"
                                                : "";
    return Error{code, std::string("start: ") + refused.what(), remedy};
  }
}

}  // namespace

ExitStatus failed(Log& log, const std::vector<Error>& errors) {
  for (const Error& error : errors) log.error(error);
  return kFailed;
}

ExitStatus serve(const Options& options, perf::PerfKernel& kernel, Log& log) {
  // Process 1 inherits the children of others. Where it ignores their end, none stays (wait(2)).
  if (::getpid() == 1) ::signal(SIGCHLD, SIG_IGN);
  auto own_loop = std::make_unique<boost::asio::io_context>(1);
  boost::asio::io_context& loop = *own_loop;
  Result<std::unique_ptr<App>> app = make_app(loop, options, kernel, log);
  if (!app) return failed(log, {app.error()});
  (*app)->follow_signals();
  if (const Result<void, std::vector<Error>> started = (*app)->start(); !started) {
    return failed(log, started.error());
  }
  if (const Result<void, std::vector<Error>> listening = (*app)->listen(); !listening) {
    return failed(log, listening.error());
  }
  (*app)->run_on_schedule();
  loop.run();
  if (!(*app)->has_ended()) {  // its thread uses both
    (void)app->release();
    (void)own_loop.release();
  }
  return kOk;
}

ExitStatus scrape_once(const Options& options, perf::PerfKernel& kernel, Log& log) {
  boost::asio::io_context loop{1};
  const auto keep_running = boost::asio::make_work_guard(loop);
  Result<std::unique_ptr<App>> made = make_app(loop, options, kernel, log);
  if (!made) return failed(log, {made.error()});
  App& app = **made;
  if (const Result<void, std::vector<Error>> started = app.start(); !started) {
    return failed(log, started.error());
  }
  boost::asio::steady_timer pause{loop};
  app.poll([&] {
    pause.expires_after(app.interval());
    pause.async_wait([&](const boost::system::error_code&) { app.poll([&] { loop.stop(); }); });
  });
  loop.run();
  std::cout << app.scrape();
  return flush_output() ? kOk : kFailed;
}

}  // namespace pex::daemon
