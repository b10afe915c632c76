#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/boot_clock.h"
#include "count/snapshot.h"
#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "daemon/run/active_session.h"
#include "daemon/run/cgroup_watcher.h"
#include "daemon/run/config_watch.h"
#include "daemon/run/crash_guard.h"
#include "daemon/run/pause.h"
#include "daemon/run/poll_log.h"
#include "daemon/run/poller.h"
#include "daemon/run/readiness.h"
#include "daemon/run/reloader.h"
#include "daemon/service/open_files.h"
#include "daemon/service/service_manager.h"
#include "daemon/service/service_status.h"
#include "daemon/service/signals.h"
#include "daemon/service/watchdog.h"
#include "daemon/status/status.h"
#include "daemon/web/repeated.h"
#include "daemon/web/web_server.h"
#include "exposition/process_metrics.h"
#include "exposition/self_metrics.h"
#include "history/activity.h"
#include "host/self_process.h"

namespace pex::daemon {

/// The running program: makes its parts and connects them on one loop. Everything except the polls
/// and the planning of a reload happens on the loop's thread.
class App {
 public:
  /// All references outlive it.
  App(boost::asio::io_context& loop, Options options, perf::PerfKernel& kernel, Log& log);
  ~App();

  /// Loads both configurations and prepares to count. Called once; fails with all errors found.
  Result<void, std::vector<Error>> start();

  /// Serves on the addresses of the options. After start(). Fails with the first address that
  /// cannot be bound.
  Result<void, std::vector<Error>> listen();
  std::vector<std::uint16_t> ports() const { return web_server_.ports(); }
  std::uint16_t health_port() const { return web_server_.health_port(); }

  /// Polls now; `done` is called on the loop once the poll is published. Returns false and makes no
  /// call if a poll is running.
  bool poll(std::function<void()> done) { return poller_.poll(std::move(done)); }

  /// SIGTERM and SIGINT stop the program, SIGHUP reloads, as soon as the loop runs. Called first,
  /// as a signal may arrive at any time.
  void follow_signals() { signals_.follow(); }

  /// Polls at every interval from now on and keeps the service manager informed.
  void run_on_schedule();

  /// Lets the loop run out of work.
  void stop();
  /// Whether it can be destroyed, as no reload hangs. Once the loop has ended.
  bool has_ended() { return reloader_.ends_by(Reloader::Clock::now() + kHangsAtEnd); }

  /// The scrape of now, rendered by the caller.
  std::string scrape(exposition::Format format = exposition::Format::kText);

  /// The last published snapshot; null before the first poll.
  std::shared_ptr<const collect::Snapshot> snapshot() const { return poller_.snapshot(); }

  std::chrono::nanoseconds interval() const { return session_.current().interval(); }

 private:
  static constexpr std::chrono::seconds kHangsAtEnd{5};
  static constexpr std::chrono::seconds kReloadHangs{10};
  static constexpr std::chrono::seconds kLooksForHierarchyEvery{10};
  static constexpr std::chrono::hours kChecksTruthEvery{1};
  static constexpr std::chrono::minutes kRetryGuests{1};

  void register_metrics();
  void watch_cgroups();
  bool is_as_configured(const collect::Snapshot& snapshot) const;
  void on_poll(const collect::PollReport& report);
  std::unique_ptr<collect::Collector> release(CountingSession& next);
  void adopt(CountingSession next);
  void reload_file(ConfigWatch::Reason why);
  void look_for_hierarchy();
  void check_truth();
  void follow_guests();
  void warn_if_reload_hangs();
  void begin_reload(Reloader::Configuration configuration, std::function<void()> go);
  void end_reload(Reloader::Configuration configuration, const Reloader::Outcome& outcome);
  void reject(Reloader::Configuration configuration, const std::vector<Error>& errors);
  bool is_starting() const;
  Counted counted() const;
  std::optional<Error> crashes() const;
  std::vector<Reduction> reductions() const;
  void follow_pause();
  void by_signal(const std::function<void()>& act);
  void log_pause(const char* by, const PauseRequest& request);
  void request_resume(const char* by);
  Signals::Handlers signal_handlers();
  Reloader::Steps reload_steps();
  WebServer::Source web_source();
  std::set<std::string, std::less<>> groups() const;
  std::optional<host::SelfProcess> self_process();
  std::string status();

  Options options_;
  Log& log_;
  const BootClock::time_point started_ = BootClock::now();
  host::SelfProcessReader self_process_;
  OpenFiles open_files_;  ///< if the kernel does not report it
  exposition::ProcessMetrics process_metrics_;
  exposition::SelfMetrics self_metrics_;
  ServiceManager service_manager_;
  PollLog poll_log_;
  history::Activity activity_;
  Poller poller_;
  Counting counting_;
  Pause pause_;
  CrashGuard guard_;
  Watchdog watchdog_;
  Signals signals_;
  WebServer web_server_;
  ActiveSession session_;  ///< near the end: its workers end before the parts they report to
  ServiceStatus service_status_;
  CgroupWatcher cgroup_watcher_;  ///< after the session, as it waits for what the session owns
  Repeated hierarchy_watch_;      ///< where none could be counted when it was planned
  ConfigWatch config_watch_;
  Repeated truth_watch_;
  std::optional<Reloader::Clock::time_point> guests_followed_at_;  ///< without success so far
  boost::asio::steady_timer reload_hangs_;
  Reloader reloader_;            ///< last, as its thread reads the session
  bool is_on_schedule_ = false;  ///< and cgroups are watched between the polls
  bool is_ready_due_ = true;     ///< the first poll of the configuration in force has not ended
};

}  // namespace pex::daemon
