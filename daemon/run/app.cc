#include "daemon/run/app.h"

#include <algorithm>
#include <utility>

#include "base/boot_clock.h"
#include "base/duration.h"
#include "daemon/cli/version.h"
#include "daemon/cli/words.h"
#include "daemon/run/readiness.h"
#include "exposition/renderer.h"
#include "host/cpu_list.h"
#include "host/self_process.h"

namespace pex::daemon {

namespace asio = boost::asio;

namespace {

/// Whether another try may succeed, though the file is the same: the machine was out of something.
bool passes(const std::vector<Error>& errors) {
  return std::any_of(errors.begin(), errors.end(),
                     [](const Error& error) { return is_shortage(error.code); });
}

}  // namespace

App::App(asio::io_context& loop, Options options, perf::PerfKernel& kernel, Log& log)
    : options_(std::move(options)),
      log_(log),
      process_metrics_([this] { return self_process(); }),
      self_metrics_(kVersion, kRevision),
      poll_log_(log),
      poller_(loop, [this](const collect::PollReport& report) { on_poll(report); }),
      counting_(poller_.metrics(), [this] { return reductions(); }),
      pause_(loop, [this] { follow_pause(); }),
      guard_(loop, options_.once ? "" : options_.state_directory, options_.roots, log),
      watchdog_(loop, service_manager_,
                {.collector = [this] { return session_.collector(); },
                 .is_starting = [this] { return is_starting(); }}),
      signals_(loop, signal_handlers()),
      web_server_(loop, options_, web_source(), log),
      session_(options_, kernel, log, &guard_),
      service_status_(service_manager_, poller_.metrics(), session_.load()),
      cgroup_watcher_(loop),
      hierarchy_watch_(loop, kLooksForHierarchyEvery,
                       [this] {
                         look_for_hierarchy();
                         return true;
                       }),
      config_watch_(loop, log, options_.config_file,
                    [this](ConfigWatch::Reason why) { reload_file(why); }),
      truth_watch_(loop, kChecksTruthEvery,
                   [this] {
                     check_truth();
                     return true;
                   }),
      reload_hangs_(loop),
      reloader_(loop, reload_steps()) {
  register_metrics();
}

/// Also after a start that has failed.
App::~App() { guard_.end(); }

/// In the order in which they are published.
void App::register_metrics() {
  self_metrics_.add(counting_);
  self_metrics_.add(session_);
  self_metrics_.add(poller_.metrics());
  self_metrics_.add(web_server_);
  self_metrics_.add(log_);
  self_metrics_.add(web_server_.access_status());
  self_metrics_.add(pause_);
  // In a textfile of the node exporter they would be two processes under one name.
  if (!options_.once) self_metrics_.add(process_metrics_);
}

Result<void, std::vector<Error>> App::start() {
  Result<CountingSession, std::vector<Error>> session = session_.plan();
  std::vector<Error> errors = session ? std::vector<Error>{} : session.error();
  if (!options_.once) {
    const Result<void, std::vector<Error>> access = web_server_.load_access();
    if (!access) errors.insert(errors.end(), access.error().begin(), access.error().end());
  }
  if (!errors.empty()) return errors;
  adopt(std::move(*session));
  return {};
}

Result<void, std::vector<Error>> App::listen() {
  Result<std::vector<int>> inherited{std::vector<int>{}};
  if (options_.systemd_socket) inherited = ServiceManager::take_sockets();
  if (!inherited) return std::vector{inherited.error()};
  return web_server_.listen(*inherited);
}

void App::run_on_schedule() {
  is_on_schedule_ = true;
  poller_.start();
  watchdog_.start();
  truth_watch_.start();
  watch_cgroups();
  if (options_.watch_config) config_watch_.start();
}

/// Without cgroups there is nothing to watch.
void App::watch_cgroups() {
  const CountingSession& current = session_.current();
  if (current.basis.hierarchy && current.basis.counts_cgroups) {
    return cgroup_watcher_.watch(*current.collector, current.interval());
  }
  if (session_.lacks_hierarchy()) hierarchy_watch_.start();
}

/// One may be mounted later, and the controller perf_event may leave a hierarchy of version 1 for
/// that of version 2. The kernel reports neither. A reload that is running may find it as well.
void App::look_for_hierarchy() {
  reloader_.ask(Reloader::Question::kHierarchy, session_.check_of_hierarchy(),
                [this](bool is_there) {
                  if (!is_there || !hierarchy_watch_.is_running()) return;
                  log_.info("there is a cgroup hierarchy with the perf_event controller now");
                  hierarchy_watch_.stop();
                  reloader_.plan_again(Reloader::Clock::now());
                });
}

/// Also in a pause: a virtual machine does not start while events that count it are open.
void App::follow_guests() {
  reloader_.ask(Reloader::Question::kGuests, session_.check_of_guests(), [this](bool is_other) {
    const Reloader::Clock::time_point now = Reloader::Clock::now();
    if (!is_other) return guests_followed_at_.reset();
    const bool has_just_failed = guests_followed_at_ && now - *guests_followed_at_ < kRetryGuests;
    if (has_just_failed) return;
    guests_followed_at_ = now;
    reloader_.plan_again(now);
  });
}

/// A virtual machine may move to a host with another PMU. Not while others are to have the
/// counters.
void App::check_truth() {
  if (pause_.is_running()) return;
  reloader_.ask(Reloader::Question::kTruth, session_.truth_check(), [this](bool has_changed) {
    if (has_changed) reloader_.plan_again(Reloader::Clock::now());
  });
}

std::string App::scrape(exposition::Format format) {
  const auto text = std::make_shared<std::string>();
  exposition::Renderer{}.render(
      poller_.snapshot().get(), *self_metrics_.read(),
      {format, exposition::Selection{}, session_.current().config.openmetrics.created}, text);
  return std::move(*text);
}

/// Not while the poll was under way when the configuration changed.
bool App::is_as_configured(const collect::Snapshot& snapshot) const {
  return *snapshot.plan == session_.current().plan.counting;
}

void App::on_poll(const collect::PollReport& report) {
  const Poller::Clock::time_point now = poller_.polled_at();
  const auto& uncounted = report.now.uncounted;
  activity_.add(*poller_.snapshot(), now,
                uncounted ? history::Activity::CpuTime{uncounted->total, uncounted->machine}
                          : history::Activity::CpuTime{});
  poll_log_.add(report, now);
  web_server_.polled();
  follow_guests();
  // A service manager that waits for the end of a reload takes READY=1 for it.
  if (!is_ready_due_ || reloader_.is_running() || !is_as_configured(*poller_.snapshot())) {
    return service_status_.refresh(now);
  }
  is_ready_due_ = false;
  guard_.polled();
  const bool is_embedded = options_.config_file.empty();
  log_.info(describe_counting(*poller_.snapshot()),
            {{"version", kVersion},
             {"configuration", is_embedded ? "embedded default" : options_.config_file},
             {"interval", format_duration(interval())}});
  service_status_.ready(now);
}

std::unique_ptr<collect::Collector> App::release(CountingSession& next) {
  cgroup_watcher_.stop();
  hierarchy_watch_.stop();
  std::unique_ptr<collect::Collector> old = session_.release(next);
  if (old) poller_.release();
  return old;
}

void App::adopt(CountingSession next) {
  session_.adopt(std::move(next));
  const CountingSession& current = session_.current();
  if (const std::optional<Error> reason = crashes()) log_.error(*reason);
  session_.collector()->set_counted(counted());
  poller_.use(*session_.collector(), current.interval());
  web_server_.configure(current.config);
  if (is_on_schedule_) watch_cgroups();
}

/// The log shows the outcome.
void App::reload_file(ConfigWatch::Reason why) {
  if (why == ConfigWatch::Reason::kNeverRests) {
    return log_.warn(Error{0,
                           "not reloading the configuration file, which has kept changing for a "
                           "minute: it may not be complete",
                           "find out which program writes to it; the file is read once it has not "
                           "changed for two seconds"});
  }
  if (why == ConfigWatch::Reason::kWrittenInPlace) {
    return log_.warn(
        Error{0,
              "not reloading the configuration file, which was written in place: it "
              "may not be complete",
              "send SIGHUP, or replace the file: mv new.yaml " + options_.config_file});
  }
  const bool has_changed = why == ConfigWatch::Reason::kReplaced;
  log_.info(has_changed ? "the configuration file has changed"
                        : "the configuration is tried again: files or memory were lacking",
            {{"file", options_.config_file}});
  reloader_.request([](const Reloader::Outcome&) {}, Reloader::Clock::now());
}

void App::warn_if_reload_hangs() {
  reload_hangs_.expires_after(kReloadHangs);
  reload_hangs_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    log_.warn(Error{0,
                    "wait for the end of a reload, which has taken " +
                        format_duration(kReloadHangs) +
                        ": a file system may not answer, such as that of a uprobe's program",
                    "look whether the mounts of the files in the configuration answer: stat -f"});
  });
}

/// To plan the same configuration again is no reload for the service manager.
void App::begin_reload(Reloader::Configuration configuration, std::function<void()> go) {
  warn_if_reload_hangs();
  if (configuration == Reloader::Configuration::kInForce) return go();
  service_manager_.reloading();
  config_watch_.before_reading(std::move(go));
}

/// The last snapshot is served until the counters of a valid configuration have been read.
void App::end_reload(Reloader::Configuration configuration, const Reloader::Outcome& outcome) {
  reload_hangs_.cancel();
  if (!outcome) return reject(configuration, outcome.error());
  if (configuration == Reloader::Configuration::kFile) {
    const GroupChanges& groups = session_.current().groups;
    log_.info("configuration reloaded", {{"groups_kept", std::to_string(groups.kept)},
                                         {"groups_opened", std::to_string(groups.opened)},
                                         {"groups_closed", std::to_string(groups.closed)}});
  }
  is_ready_due_ = true;
  poller_.poll_after_change();
}

/// The hierarchy that could not be counted is tried again.
void App::reject(Reloader::Configuration configuration, const std::vector<Error>& errors) {
  if (configuration == Reloader::Configuration::kInForce) {
    for (const Error& error : errors) log_.warn(error);
    if (session_.lacks_hierarchy()) hierarchy_watch_.start();
    return;
  }
  session_.reject(errors);
  guard_.give_up();
  if (passes(errors)) config_watch_.try_again();
  if (is_ready_due_) {
    poller_.poll_after_change();  // of the reload before, which was not published yet
  } else {
    service_status_.ready(Poller::Clock::now());
  }
}

Reloader::Steps App::reload_steps() {
  using Configuration = Reloader::Configuration;
  return {.begin = [this](Configuration configuration,
                          std::function<void()> go) { begin_reload(configuration, std::move(go)); },
          .plan =
              [this](Configuration configuration) {
                return configuration == Configuration::kFile ? session_.plan()
                                                             : session_.plan_again();
              },
          .release = [this](CountingSession& next) { return release(next); },
          .adopt = [this](CountingSession next) { adopt(std::move(next)); },
          .left_behind =
              [this](const std::vector<int>& cpus) {
                log_.warn(Error{
                    0,
                    "close the counters of CPU " + host::format_cpu_list(cpus) +
                        ": its thread hangs in the kernel, and they stay open until it returns",
                    "look for a hang of that CPU in the kernel's log"});
              },
          .end = [this](Configuration configuration,
                        const Reloader::Outcome& outcome) { end_reload(configuration, outcome); }};
}

Counted App::counted() const { return std::max(session_.current().plan.counted, pause_.counted()); }

/// Nothing where the configuration disables counting, whatever was before.
std::optional<Error> App::crashes() const {
  return session_.current().config.enabled ? guard_.reason() : std::nullopt;
}

std::vector<Reduction> App::reductions() const {
  std::vector<Reduction> all;
  if (crashes()) all.push_back({session_.current().plan.counted, "crashes"});
  if (!session_.current().config.enabled) all.push_back({Counted::kNothing, "configuration"});
  if (pause_.is_running()) all.push_back({pause_.counted(), "pause"});
  return all;
}

/// The next poll does it; after a reload, that of the new collector.
void App::follow_pause() {
  if (session_.collector() != nullptr) session_.collector()->set_counted(counted());
  log_.info(pause_.is_running() ? pause_.what() : "the pause has ended");
  poller_.poll_after_change();
}

/// Clients may pause counting only with --web.enable-lifecycle, and so may other programs.
void App::by_signal(const std::function<void()>& act) {
  if (options_.lifecycle) return act();
  log_.warn(Error{0, "SIGUSR1 and SIGUSR2 are ignored: they pause counting",
                  "start the exporter with --web.enable-lifecycle"});
}

void App::log_pause(const char* by, const PauseRequest& request) {
  log_.info("pause requested",
            {{"by", by},
             {"scope", request.counted == Counted::kNothing ? "all" : "hardware"},
             {"for", request.length ? format_duration(*request.length) : "no limit"}});
}

void App::request_resume(const char* by) {
  if (!pause_.is_running()) return;
  log_.info("end of the pause requested", {{"by", by}});
  pause_.end();
}

bool App::is_starting() const { return is_ready_due_ || reloader_.is_running(); }

Signals::Handlers App::signal_handlers() {
  return {.stop =
              [this](const char* signal) {
                log_.info("stopping", {{"signal", signal}});
                stop();
              },
          .reload =
              [this] {
                // The log shows the outcome.
                reloader_.request([](const Reloader::Outcome&) {}, Reloader::Clock::now());
              },
          .pause =
              [this] {
                by_signal([this] {
                  log_pause("SIGUSR1", {});
                  pause_.begin({});
                });
              },
          .resume = [this] { by_signal([this] { request_resume("SIGUSR2"); }); }};
}

WebServer::Source App::web_source() {
  return {.scrapes = {.latest =
                          [this] {
                            return ScrapeCache::Latest{poller_.snapshot(), poller_.polled_at()};
                          },
                      .read_self = [this] { return self_metrics_.read(); },
                      .poll = [this] { (void)poller_.poll({}); }},  // a running poll is enough
          .groups = [this] { return groups(); },
          .routes = {
              .scrape = {},
              .status = [this] { return status(); },
              .is_healthy = [this] { return watchdog_.is_healthy(); },
              .why_not_ready =
                  [this] {
                    if (const std::optional<Error> reason = crashes()) return reason->attempted;
                    return std::string(why_not_ready(
                        poller_.snapshot().get(),
                        options_.ready_needs_events && counted() != Counted::kNothing));
                  },
              .reload =
                  [this](Reloader::Answer answer) {
                    return reloader_.request_for_client(std::move(answer), Reloader::Clock::now());
                  },
              .between_reloads = Reloader::kBetweenClients,
              .pause =
                  [this](const PauseRequest& request, std::function<void(std::string)> done) {
                    const std::optional<std::string> answer = pause_.begin_for_client(request);
                    if (!answer) return false;
                    log_pause("client", request);
                    poller_.poll_after_change([done = std::move(done), answer] { done(*answer); });
                    return true;
                  },
              .resume =
                  [this](std::function<void()> done) {
                    if (!pause_.is_running()) return done();  // a client may ask all the time
                    request_resume("client");
                    poller_.poll_after_change(std::move(done));
                  }}};
}

/// The names by which series can be selected.
std::set<std::string, std::less<>> App::groups() const {
  std::set<std::string, std::less<>> names = {std::string(exposition::kExporterGroup)};
  for (const plan::EventAvailability& event : session_.current().plan.events) {
    names.insert(event.group);
  }
  // With one configuration for all machines, each answers the same scrapes.
  for (const plan::LeftOutGroup& group : session_.current().plan.left_out_groups) {
    names.insert(group.name);
  }
  return names;
}

std::optional<host::SelfProcess> App::self_process() {
  Result<host::SelfProcess> process = self_process_.read();
  if (!process) return {};
  if (!process->open_fds) process->open_fds = open_files_.read(OpenFiles::Clock::now());
  return *process;
}

std::string App::status() {
  const exposition::PollMetrics& polls = poller_.metrics();
  std::vector<std::string> warnings = session_.current().warnings;
  const collect::Snapshot* const snapshot = poller_.snapshot().get();
  if (snapshot != nullptr) {
    for (const std::string& pmu : collect::pmus_of(*snapshot->plan)) {  // that may have changed
      const std::string waiting = worded(collect::waiting_for_a_cpu(pmu));
      std::erase(warnings, waiting);
      if (snapshot->targets->cpus->is_waiting(pmu)) warnings.push_back(waiting);
    }
  }
  for (std::string& warning : session_.pmu_warnings()) warnings.push_back(std::move(warning));
  for (const Error& warning : web_server_.too_short_times()) warnings.push_back(worded(warning));
  if (const std::optional<Error> reason = crashes()) warnings.push_back(worded(*reason));
  if (pause_.is_running()) warnings.push_back(pause_.text());
  return status_json({.version = kVersion,
                      .now = BootClock::now(),
                      .started = started_,
                      .interval = interval(),
                      .polls = polls.polls(),
                      .overruns = polls.overruns(),
                      .cgroups_missed = polls.cgroups_missed(),
                      .warnings = std::move(warnings),
                      .configuration = session_.load(),
                      .web_configuration = web_server_.access_status().load(),
                      .telemetry_path = options_.telemetry_path,
                      .plan = session_.current().plan,
                      .snapshot = snapshot,
                      .last_poll = polls.last(),
                      .activity = activity_,
                      .process = self_process()});
}

void App::stop() {
  reloader_.stop();
  reload_hangs_.cancel();
  service_manager_.stopping();
  poller_.stop();
  cgroup_watcher_.stop();
  hierarchy_watch_.stop();
  config_watch_.stop();
  truth_watch_.stop();
  watchdog_.stop();
  signals_.stop();
  pause_.stop();
  guard_.end();
  web_server_.stop();
}

}  // namespace pex::daemon
