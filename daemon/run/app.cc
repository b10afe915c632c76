#include "daemon/run/app.h"

#include <signal.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "daemon/cli/version.h"
#include "daemon/cli/words.h"
#include "daemon/run/human_format.h"
#include "daemon/run/poll_schedule.h"
#include "exposition/renderer.h"
#include "host/cpu_list.h"
#include "host/self_process.h"
#include "plan/availability.h"

namespace pex::daemon {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Where no service manager has a watchdog, for the health that we tell of ourselves.
constexpr std::chrono::seconds kWatchdog{30};

/// Looks in the time of the watchdog. What stands still is noticed within it: after half of it, and
/// at most one look later.
constexpr int kLooks = 4;

/// A status that only differs in the time a poll took is no news.
constexpr std::chrono::minutes kStatusAgainAfter{1};

LogFields fields_of(const collect::PollReport::Failure& failure) {
  const collect::PollReport::Subject& subject = failure.subject;
  LogFields fields;
  if (!subject.event.empty()) fields.push_back({"event", subject.event});
  if (!subject.group.empty()) fields.push_back({"group", subject.group});
  if (!subject.cgroup.empty()) fields.push_back({"cgroup", subject.cgroup});
  if (subject.cpu >= 0) fields.push_back({"cpu", std::to_string(subject.cpu)});
  if (failure.times > 1) fields.push_back({"times", std::to_string(failure.times)});
  return fields;
}

}  // namespace

App::App(asio::io_context& loop, Options options, perf::PerfKernel& kernel, Log& log)
    : loop_(loop),
      options_(std::move(options)),
      kernel_(kernel),
      log_(log),
      watchdog_(service_manager_.watchdog().value_or(kWatchdog)),
      liveness_(watchdog_ / 2),
      self_metrics_(kVersion),
      tick_(loop),
      next_watch_(loop),
      stop_signals_(loop),
      reload_signal_(loop),
      web_server_(loop, options_, web_source(), self_metrics_, log),
      lookout_(loop),
      reloader_(loop, reload_steps()) {}

App::~App() = default;

Result<void, std::vector<Error>> App::start() {
  Result<Counting, std::vector<Error>> counting = plan();
  if (!counting) return counting.error();
  adopt(std::move(*counting));
  return {};
}

/// Beside what is counted now, if anything. It runs on a thread of its own while the loop goes on:
/// of what changes it uses only the counting, which stays as it is until a reload ends.
Result<Counting, std::vector<Error>> App::plan() {
  const Counting* in_force = counting_.collector ? &counting_ : nullptr;
  Result<plan::LoadedPlan, std::vector<Error>> planned =
      load_and_plan(options_.config_file, options_.roots, kernel_,
                    in_force == nullptr ? nullptr : &in_force->plan);
  if (!planned) return planned.error();
  Result<Counting> counting =
      start_counting(std::move(*planned), options_.roots, kernel_, in_force);
  if (!counting) return std::vector{counting.error()};
  return std::move(*counting);
}

std::unique_ptr<collect::Collector> App::release(Counting& counting) {
  lookout_.stop();
  if (!counting.collector) {
    take_over(counting_, counting);
    return nullptr;
  }
  ++generation_;
  polls_for_scrape_ = false;
  return std::move(counting_.collector);
}

void App::log_left_behind(const std::vector<int>& cpus) {
  log_.warn(Error{0,
                  "close the counters of CPU " + host::format_cpu_list(cpus) +
                      ": its thread hangs in the kernel, and they stay open until it comes back",
                  "look for a hang of that CPU in the kernel's log"});
}

void App::adopt(Counting counting) {
  counting_ = std::move(counting);
  web_server_.configure(counting_.max_age, counting_.created);
  if (is_on_schedule_) lookout_.watch(*counting_.collector, counting_.interval);
  self_metrics_.forget_events();
  for (const auto& [event, available] : availability(counting_.plan)) {
    self_metrics_.set_event_available(event.first, event.second, available);
  }
  self_metrics_.set_series_limit(counting_.plan.budget.max_series);
  self_metrics_.set_config_loaded(true);
  const Moment now = Moment::now();
  load_ = {options_.config_file, now, now, {}};
  for (const Error& reason : left_out(counting_.plan)) log_.warn(reason);
  for (const std::string& remark : counting_.remarks) log_.warn(remark);
}

Result<void, std::vector<Error>> App::listen() {
  Result<std::vector<int>> inherited{std::vector<int>{}};
  if (options_.systemd_socket) inherited = ServiceManager::take_sockets();
  if (!inherited) return std::vector{inherited.error()};
  return web_server_.listen(*inherited);
}

WebServer::Source App::web_source() {
  return {.scrapes = {.latest =
                          [this] {
                            return ScrapeCache::Latest{snapshot_, last_poll_};
                          },
                      .read_self = [this] { return read_self(); },
                      .poll = [this] { poll_for_scrape(); }},
          .groups = [this] { return groups(); },
          .status = [this] { return full_status(); },
          .is_healthy = [this] { return liveness_.is_alive(); },
          .is_ready = [this] { return snapshot_ != nullptr; },
          .reload =
              [this](Reloader::Answer answer) {
                return reloader_.request_for_client(std::move(answer), Reloader::Clock::now());
              }};
}

/// The names by which series can be chosen.
std::set<std::string, std::less<>> App::groups() const {
  std::set<std::string, std::less<>> names = {std::string(exposition::kExporterGroup)};
  for (const plan::EventAvailability& event : counting_.plan.events) names.insert(event.group);
  return names;
}

std::shared_ptr<const exposition::SelfReading> App::read_self() {
  if (const std::optional<host::SelfProcess> own = own_process()) self_metrics_.set_process(*own);
  web_server_.tell_of_clients();
  self_metrics_.set_log_dropped(log_.dropped());
  return self_metrics_.read();
}

std::string App::scrape(exposition::Format format) {
  std::string text;
  exposition::Renderer{}.render(snapshot_.get(), *read_self(),
                                {format, exposition::Selection{}, counting_.created}, text);
  return text;
}

/// Counts that are too old for a scrape are read now; those of a poll that is running will do.
void App::poll_for_scrape() {
  polls_for_scrape_ = poll([this] { polls_for_scrape_ = false; }) || polls_for_scrape_;
}

bool App::poll(std::function<void()> done) {
  if (!counting_.collector) return false;
  return counting_.collector->poll(
      [this, generation = generation_, done = std::move(done)](
          collect::PollReport report, std::shared_ptr<const collect::Snapshot> snapshot) {
        asio::post(loop_, [this, generation, done, report = std::move(report),
                           snapshot = std::move(snapshot)] {
          if (generation == generation_) on_poll(report, snapshot);
          if (done) done();
        });
      });
}

void App::on_poll(const collect::PollReport& report,
                  std::shared_ptr<const collect::Snapshot> snapshot) {
  const bool first = snapshot_ == nullptr;
  last_poll_ = std::chrono::steady_clock::now();
  snapshot_ = std::move(snapshot);
  self_metrics_.add_poll(report, *snapshot_);
  activity_.add(*snapshot_, last_poll_);
  polled_.last = report.now;
  ++polled_.polls;
  polled_.cgroups_missed += report.cgroups_missed;
  log_failures(report);
  tell_once(report);
  log_.debug("polled", {{"groups", std::to_string(report.groups_read)},
                        {"opened", std::to_string(report.groups_opened)},
                        {"closed", std::to_string(report.groups_closed)},
                        {"microseconds", std::to_string(report.now.duration.count() / 1'000)}});
  web_server_.polled();
  const bool is_reloaded = std::exchange(reloaded_, false);
  announce(first || is_reloaded);
}

/// Tells the service manager that we are ready, or when what is counted has changed, and now and
/// then how long it takes.
void App::announce(bool is_ready) {
  std::string now = counts();
  if (is_ready) {
    log_.info(now, {{"version", kVersion}, {"interval", format_duration(counting_.interval)}});
    service_manager_.ready(status());
  } else if (now != announced_ || last_poll_ - announced_at_ >= kStatusAgainAfter) {
    service_manager_.status(status());
  } else {
    return;
  }
  announced_ = std::move(now);
  announced_at_ = last_poll_;
}

/// One line for each cause and minute, however many CPUs and cgroups it concerns.
void App::log_failures(const collect::PollReport& report) {
  for (const auto& [cause, failure] : report.failures) {
    if (!repeated_.passes(cause.what + errno_name(cause.code), last_poll_)) continue;
    log_.warn(failure.first, fields_of(failure));
  }
}

/// What the kernel does wrong and is worked around: worth knowing, and no failure.
void App::tell_once(const collect::PollReport& report) {
  const bool is_mistimed = std::any_of(report.troubles.begin(), report.troubles.end(),
                                       [](const auto& group) { return group.second.mistimed > 0; });
  if (is_mistimed && !std::exchange(told_mistimed_, true)) {
    log_.info(
        "this kernel books the running time of cgroup groups that take turns to the wrong group; "
        "the groups' own clocks are used (perf_group_mistimed_polls_total)");
  }
  if (report.now.targets_in_turns > 0 && !std::exchange(told_turns_, true)) {
    log_.info(
        "the kernel's rotation starves a group of a cgroup, so its groups are enabled in turn "
        "(perf_event_exporter_cgroups_in_turns); 'doctor' tells how it can be avoided");
  }
}

std::string App::counts() const {
  const auto number = [](std::size_t n) { return std::to_string(n); };
  return "counting " + number(snapshot_->plan->cpu.columns.size()) + " events on the CPUs (" +
         number(snapshot_->targets->cpus->online.size()) + ") and " +
         number(snapshot_->plan->cgroup.columns.size()) + " in each cgroup (" +
         number(snapshot_->targets->present) + ")";
}

std::string App::status() const {
  const std::string refused =
      load_.errors.empty() ? "" : "configuration not reloaded: see the log; ";
  return refused + counts() + "; " + std::to_string(polled_.last.open_events) +
         " counters, last poll " + duration_text(polled_.last.duration);
}

std::optional<host::SelfProcess> App::own_process() {
  Result<host::SelfProcess> own = host::read_self_process();
  if (!own) return {};
  own->open_fds = open_files_.read(OpenFiles::Clock::now());
  return *own;
}

Status App::full_status() {
  return make_status({.version = kVersion,
                      .now = Moment::now(),
                      .started = started_,
                      .plan = counting_.plan,
                      .warnings = counting_.remarks,
                      .snapshot = snapshot_.get(),
                      .polled_at = last_poll_,
                      .activity = activity_,
                      .counters = polled_,
                      .interval = counting_.interval,
                      .telemetry_path = options_.telemetry_path,
                      .configuration = load_,
                      .web_configuration = web_server_.configuration(),
                      .process = own_process()});
}

void App::follow_signals() {
  stop_signals_.add(SIGINT);
  stop_signals_.add(SIGTERM);
  reload_signal_.add(SIGHUP);
  await_stop_signal();
  await_reload_signal();
}

void App::run_on_schedule() {
  last_poll_ = due_ = std::chrono::steady_clock::now();
  is_on_schedule_ = true;
  on_tick();
  watch_collector();
  lookout_.watch(*counting_.collector, counting_.interval);
}

void App::on_tick() {
  if (stopping_) return;  // a timer that had fired before it was cancelled
  const bool is_counting = counting_.collector != nullptr;  // else a reload will begin anew
  if (is_counting && !poll({}) && !polls_for_scrape_) add_overruns(1);
  const NextPoll next = next_poll(due_, std::chrono::steady_clock::now(), counting_.interval);
  if (next.missed > 0) add_overruns(next.missed);
  due_ = next.due;
  schedule_tick();
}

void App::add_overruns(std::uint64_t missed) {
  self_metrics_.add_overruns(missed);
  polled_.overruns += missed;
}

void App::schedule_tick() {
  tick_.expires_at(due_);
  tick_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) on_tick();
  });
}

/// The loop is alive, or it would not be here.
void App::watch_collector() {
  if (stopping_) return;
  const collect::Collector* collector = counting_.collector.get();
  liveness_.look(std::chrono::steady_clock::now(), collector != nullptr && collector->is_busy(),
                 collector == nullptr ? 0 : collector->steps());
  if (liveness_.is_alive()) {
    if (service_manager_.watchdog()) service_manager_.alive();
    const bool is_starting = snapshot_ == nullptr || reloaded_ || reloader_.is_running();
    if (is_starting) service_manager_.extend_timeout(watchdog_);
  }
  next_watch_.expires_after(watchdog_ / kLooks);
  next_watch_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) watch_collector();
  });
}

void App::await_stop_signal() {
  stop_signals_.async_wait([this](const error_code& cancelled, int signal) {
    if (cancelled) return;
    log_.info("stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
    stop();
  });
}

void App::await_reload_signal() {
  reload_signal_.async_wait([this](const error_code& cancelled, int) {
    if (cancelled || stopping_) return;
    reloader_.request([](const Reloader::Outcome&) {}, Reloader::Clock::now());  // the log is told
    await_reload_signal();
  });
}

Reloader::Steps App::reload_steps() {
  return {.begin = [this] { service_manager_.reloading(); },
          .plan = [this] { return plan(); },
          .release = [this](Counting& counting) { return release(counting); },
          .adopt = [this](Counting counting) { adopt(std::move(counting)); },
          .left_behind = [this](const std::vector<int>& cpus) { log_left_behind(cpus); },
          .end = [this](const Reloader::Outcome& outcome) { end_reload(outcome); }};
}

/// A configuration with mistakes changes nothing. A good one that counts something else replaces
/// everything that counts; what was published last is served until the new counters have been read.
void App::end_reload(const Reloader::Outcome& outcome) {
  if (outcome) {
    log_.info("configuration reloaded");
    reloaded_ = true;
    (void)poll({});  // one that is running will do
    due_ = std::chrono::steady_clock::now() + counting_.interval;
    schedule_tick();
    return;
  }
  for (const Error& mistake : outcome.error()) log_.error(mistake);
  log_.error("configuration not reloaded: the one before stays in force");
  self_metrics_.set_config_loaded(false);
  load_.last_tried = Moment::now();
  load_.errors.clear();
  for (const Error& mistake : outcome.error()) load_.errors.push_back(worded(mistake));
  if (snapshot_) service_manager_.ready(status());  // else the first poll will say it
}

void App::stop() {
  stopping_ = true;
  reloader_.stop();
  service_manager_.stopping();
  tick_.cancel();
  lookout_.stop();
  next_watch_.cancel();
  boost::system::error_code ignored;
  stop_signals_.clear(ignored);  // should the end hang, the next signal ends it the hard way
  reload_signal_.clear(ignored);
  stop_signals_.cancel(ignored);
  reload_signal_.cancel(ignored);
  web_server_.stop();
}

}  // namespace pex::daemon
