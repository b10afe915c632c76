#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collect/snapshot.h"
#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "daemon/run/cgroup_watcher.h"
#include "daemon/run/counting_session.h"
#include "daemon/run/liveness.h"
#include "daemon/run/open_files.h"
#include "daemon/run/reloader.h"
#include "daemon/run/service_manager.h"
#include "daemon/status/status.h"
#include "daemon/web/routes.h"
#include "exposition/self_metrics.h"
#include "history/activity.h"

namespace pex::daemon {

/// The running program: brings configuration, collector, exposition and HTTP together on one loop.
/// Everything but the polls themselves, and the planning of a reload, happens on the thread that
/// runs the loop.
class App {
 public:
  /// All references outlive it.
  App(boost::asio::io_context& loop, Options options, perf::PerfKernel& kernel, Log& log);
  ~App();

  /// Loads the configuration and prepares to count. Once; fails with everything that is wrong.
  Result<void, std::vector<Error>> start();

  /// Serves on the addresses of the options. After start(). Fails with everything that is wrong
  /// with the web configuration, or the first address that cannot be had.
  Result<void, std::vector<Error>> listen();
  std::vector<std::uint16_t> ports() const { return web_server_.ports(); }

  /// One poll now; `done` is called on the loop once it is published. False, and no call, when one
  /// is running.
  bool poll(std::function<void()> done);

  /// SIGTERM and SIGINT stop it, SIGHUP reloads, as soon as the loop runs. Called first, as a
  /// signal may come at any time.
  void follow_signals();

  /// Polls at every interval from now on and keeps the service manager informed.
  void run_on_schedule();

  /// Lets the loop run out of work.
  void stop();

  /// What a scrape gets now, rendered here and now.
  std::string scrape(exposition::Format format = exposition::Format::kText);

  /// What was published last; null before the first poll.
  std::shared_ptr<const collect::Snapshot> snapshot() const { return snapshot_; }

  std::chrono::nanoseconds interval() const { return counting_.interval; }

 private:
  void on_poll(const collect::PollReport& report,
               std::shared_ptr<const collect::Snapshot> snapshot);
  void log_failures(const collect::PollReport& report);
  void tell_once(const collect::PollReport& report);
  void on_tick();
  void add_overruns(std::uint64_t missed);
  void announce(bool is_ready);
  void schedule_tick();
  void watch_collector();
  void await_stop_signal();
  void await_reload_signal();
  Reloader::Steps reload_steps();
  Result<Counting, std::vector<Error>> plan();
  std::unique_ptr<collect::Collector> release(Counting& counting);
  void adopt(Counting counting);
  void log_left_behind(const std::vector<int>& cpus);
  void end_reload(const Reloader::Outcome& outcome);
  std::string counts() const;
  std::string status() const;
  WebServer::Source web_source();
  std::set<std::string, std::less<>> groups() const;
  std::shared_ptr<const exposition::SelfReading> read_self();
  void poll_for_scrape();
  std::optional<host::SelfProcess> own_process();
  Status full_status();

  boost::asio::io_context& loop_;
  Options options_;
  perf::PerfKernel& kernel_;
  Log& log_;
  LogThrottle repeated_;
  OpenFiles open_files_;
  ServiceManager service_manager_;
  const std::chrono::microseconds watchdog_;  ///< after that long without a sign of life, we end
  Liveness liveness_;                         ///< of the collector
  exposition::SelfMetrics self_metrics_;
  std::shared_ptr<const collect::Snapshot> snapshot_;  ///< null before the first poll
  history::Activity activity_;
  PollCounters polled_;
  ConfigurationLoad load_;
  const Moment started_ = Moment::now();

  boost::asio::steady_timer tick_;
  boost::asio::steady_timer next_watch_;
  boost::asio::signal_set stop_signals_;
  boost::asio::signal_set reload_signal_;
  std::chrono::steady_clock::time_point due_;
  std::chrono::steady_clock::time_point last_poll_;
  std::uint64_t generation_ = 0;  ///< of the collector; a report of an earlier one is not news
  bool reloaded_ = false;         ///< and the first poll of the new configuration has not ended
  std::string announced_;         ///< the counts that the service manager was told last
  std::chrono::steady_clock::time_point announced_at_;
  bool told_mistimed_ = false;
  bool told_turns_ = false;
  bool polls_for_scrape_ = false;  ///< the poll that is running, so that one due now is no overrun
  bool is_on_schedule_ = false;    ///< and looks between the polls
  bool stopping_ = false;  ///< what is still queued on the loop must not start anything again
  WebServer web_server_;
  Counting counting_;      ///< near the end, so that its workers end before what they report to;
                           ///< without a collector while a reload closes the old counters
  CgroupWatcher lookout_;  ///< behind it, as it waits for what the counting owns
  Reloader reloader_;      ///< last, as its thread looks at the counting
};

}  // namespace pex::daemon
