#include "daemon/commands.h"

#include <fnmatch.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <iostream>
#include <string>

#include "daemon/app.h"
#include "daemon/counting.h"
#include "host/topology.h"

namespace pex::daemon {
namespace {

/// kFailed when what was printed could not be written.
ExitStatus flushed() { return std::cout << std::flush ? kOk : kFailed; }

ExitStatus failed(Log& log, const std::vector<Error>& errors) {
  for (const Error& error : errors) log.error(describe(error));
  return kFailed;
}

/// `name` padded to a column.
std::string column(std::string name, std::size_t width) {
  name.resize(std::max(name.size() + 1, width), ' ');
  return name;
}

std::string here(bool available, const Error& reason) {
  return available ? "yes" : "no (" + errno_name(reason.code) + ")";
}

constexpr std::size_t kEventColumn = 28;
constexpr std::size_t kGroupColumn = 16;

}  // namespace

ExitStatus serve(const Options& options, perf::PerfKernel& kernel, Log& log) {
  boost::asio::io_context loop{1};
  App app{loop, options, kernel, log};
  app.follow_signals();
  if (const Result<void, std::vector<Error>> started = app.start(); !started) {
    return failed(log, started.error());
  }
  if (const Result<> listening = app.listen(); !listening) {
    return failed(log, {listening.error()});
  }
  app.run_on_schedule();
  loop.run();
  return kOk;
}

ExitStatus scrape_once(const Options& options, perf::PerfKernel& kernel, Log& log) {
  boost::asio::io_context loop{1};
  const auto keep_running = boost::asio::make_work_guard(loop);
  App app{loop, options, kernel, log};
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
  return flushed();
}

ExitStatus check_config(const Options& options, perf::PerfKernel& kernel) {
  const Result<Planned, std::vector<Error>> planned =
      load_and_plan(options.config_file, options.roots, kernel);
  if (!planned) {
    for (const Error& mistake : planned.error()) std::cerr << describe(mistake) << '\n';
    return kFailed;
  }
  std::size_t available = 0;
  std::cout << column("GROUP", kGroupColumn) << column("EVENT", kEventColumn) << "HERE\n";
  for (const EventAvailability& event : planned->plan.events) {
    std::cout << column(event.group, kGroupColumn) << column(event.event, kEventColumn)
              << here(event.available, event.reason) << '\n';
    available += event.available ? 1 : 0;
  }
  for (const std::string& line : left_out_lines(planned->plan)) std::cout << '\n' << line << '\n';
  std::cout << "\nvalid: " << available << " of " << planned->plan.events.size()
            << " events can be counted here\n";
  return flushed();
}

ExitStatus list_events(const Options& options, perf::PerfKernel& kernel, Log& log) {
  const Result<std::vector<int>> cpus = host::online_cpus(options.roots);
  if (!cpus) return failed(log, {cpus.error()});
  bool any = false;
  for (const std::string& name : perf::known_events()) {
    if (::fnmatch(options.list_glob.c_str(), name.c_str(), 0) != 0) continue;
    any = true;
    const Result<> tried = try_event(kernel, *perf::parse_event(name), cpus->front());
    std::cout << column(name, kEventColumn)
              << here(tried.has_value(), tried ? Error{} : tried.error()) << '\n';
  }
  if (!any) {
    return failed(log, {Error{0, "no event matches '" + options.list_glob + "'",
                              "'list' without a pattern prints all of them"}});
  }
  return flushed();
}

}  // namespace pex::daemon
