#include "daemon/commands/commands.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <iostream>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/run/app.h"
#include "daemon/run/counting_session.h"
#include "daemon/web/access_reload.h"
#include "host/cpu_list.h"
#include "plan/availability.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

ExitStatus failed(Log& log, const std::vector<Error>& errors) {
  for (const Error& error : errors) log.error(error);
  return kFailed;
}

void print_each(const std::vector<Error>& errors) {
  for (const Error& error : errors) std::cerr << printable(worded(error)) << '\n';
}

/// Also checks that the certificates can be used.
Result<void, std::vector<Error>> check_web_config(const std::string& file) {
  if (file.empty()) return {};
  std::vector<yaml::Diagnostic> warnings;
  const Result<AccessReload, std::vector<Error>> access = AccessReload::load(file, warnings);
  print_each(yaml::errors_of(warnings));
  return access ? Result<void, std::vector<Error>>{} : access.error();
}

/// Asio throws if no thread or descriptor is left for its pools.
Result<std::unique_ptr<App>> make_app(boost::asio::io_context& loop, const Options& options,
                                      perf::PerfKernel& kernel, Log& log) {
  try {
    return std::make_unique<App>(loop, options, kernel, log);
  } catch (const boost::system::system_error& refused) {
    const int code = refused.code().value();
    if (code == EAGAIN) {
      return Error{code, "start the threads that render, check passwords and reload",
                   "raise TasksMax= in the unit, or the container's limit on processes (pids.max)"};
    }
    const bool lacks_descriptor = code == EMFILE || code == ENFILE;
    return Error{code, std::string("start: ") + refused.what(),
                 lacks_descriptor ? "raise LimitNOFILE= in the unit, or ulimit -n" : ""};
  }
}

constexpr std::size_t kGroupColumn = 16;
constexpr std::size_t kScopeColumn = 12;

std::string scopes_of(const plan::EventAvailability& event) {
  if (event.cpu_scope && event.cgroup_scope) return "cpu,cgroup";
  return event.cpu_scope ? "cpu" : "cgroup";
}

/// What the counters of a plan take, before any of them is opened.
std::string need_line(const collect::Need& need, const collect::Budget& budget) {
  const auto number = [](std::size_t n) { return std::to_string(n); };
  std::string line = "needs " + number(need.cpu_events) + " of the " + number(budget.open_files()) +
                     " file descriptors it may open";
  if (need.cgroup_events == 0) return line;
  return line + ", and " + number(need.cgroup_events) + " for each cgroup: room for " +
         number(collect::cgroup_capacity(budget, need).cgroups) + " cgroups";
}

/// One line for the CPUs that no group counts, and one for each group that leaves out more.
std::vector<std::string> cpus_left_out(const plan::LoadedPlan& planned) {
  std::vector<std::string> lines;
  const auto add = [&](const std::vector<int>& cpus, const std::string& of) {
    const std::string line = of + "not counted on CPU " + host::format_cpu_list(cpus) +
                             ": left out by the configuration";
    if (cpus.empty() || std::find(lines.begin(), lines.end(), line) != lines.end()) return;
    lines.push_back(line);
  };
  const collect::CountingPlan& plan = planned.plan.counting;
  add(planned.cpus->left_out, "");
  for (const collect::ScopePlan* scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      add(group.left_out_cpus, "group '" + std::string(collect::configured_name(group)) + "' is ");
    }
  }
  return lines;
}

/// Wide enough for the longest name.
std::size_t event_column(const plan::Plan& plan) {
  std::size_t width = 16;
  for (const plan::EventAvailability& event : plan.events)
    width = std::max(width, event.event.size() + 2);
  return width;
}

}  // namespace

ExitStatus serve(const Options& options, perf::PerfKernel& kernel, Log& log) {
  boost::asio::io_context loop{1};
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

ExitStatus check_config(const Options& options, perf::PerfKernel& kernel) {
  const Result<void, std::vector<Error>> web = check_web_config(options.web_config_file);
  if (!web) print_each(web.error());
  const Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned =
      plan::load_and_plan(options.config_file, options.roots, kernel);
  if (!planned) print_each(yaml::errors_of(planned.error()));
  if (!planned || !web) return kFailed;
  const Result<plan::CgroupTree> tree = find_counted_tree(*planned, options.roots, kernel);
  if (!tree) {
    print_each({tree.error()});
    return kFailed;
  }
  std::cout << "configuration: " << printable(name_of_config(options)) << "\n\n";
  std::size_t available = 0;
  const std::size_t width = event_column(planned->plan);
  std::cout << column("GROUP", kGroupColumn) << column("EVENT", width)
            << column("SCOPE", kScopeColumn) << "HERE\n";
  for (const plan::EventAvailability& event : planned->plan.events) {
    std::cout << column(printable(event.group), kGroupColumn)
              << column(printable(event.event), width) << column(scopes_of(event), kScopeColumn)
              << yes_or_no(event.available, event.reason) << '\n';
    available += event.available ? 1 : 0;
  }
  for (const std::string& line : left_out_lines(planned->plan, program_words))
    std::cout << '\n' << printable(line) << '\n';
  for (const auto* warnings : {&planned->plan.warnings, &tree->warnings}) {
    for (const Error& warning : *warnings) std::cout << '\n' << printable(worded(warning)) << '\n';
  }
  const std::size_t events = planned->plan.events.size();
  const collect::Need need = collect::need_of(planned->plan.counting, *planned->cpus);
  const collect::Budget& budget = planned->plan.budget;
  for (const std::string& line : cpus_left_out(*planned))
    std::cout << '\n' << printable(line) << '\n';
  std::cout << "\nvalid: " << available << " of " << events << " events can be counted here; "
            << need_line(need, budget) << '\n';
  const Result<> fits = collect::check_cpu_groups(budget, need);
  if (!fits) std::cout << printable(worded(fits.error())) << '\n';

  const bool adapts = planned->config.is_default && available > 0;
  if (available < events && !adapts) {
    std::cout << "exit status 1, as " << events - available << " of them cannot\n";
  }
  return flush_output() && fits && (available == events || adapts) ? kOk : kFailed;
}

}  // namespace pex::daemon
