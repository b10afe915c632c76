#include "bench/poll/poll_rounds.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <functional>
#include <string_view>
#include <thread>

#include "bench/poll/bare_answer.h"
#include "bench/poll/floor.h"
#include "config/load.h"
#include "daemon/run/app.h"
#include "daemon/run/counting_session.h"
#include "host/self_process.h"

namespace pex::bench {
namespace {

constexpr std::size_t kWarmUpRounds = 3;
/// Under a debugger or on a stalled machine; far above what a round can take.
constexpr std::chrono::seconds kRoundEnds{10};

constexpr std::string_view kEvents =
    "task-clock, context-switches, page-faults, cpu-migrations, minor-faults, cgroup-switches";

std::string config_text(const Scenario& scenario) {
  std::string text = "groups:\n  - name: software\n    events: [" + std::string(kEvents) + "]\n";
  if (scenario.cgroups == 0) return text + "    scope: cpu\n";
  text += "    scope: cgroup\ncgroups:\n  include: [\"" + scenario.glob +
          "\"]\n  max: " + std::to_string(scenario.cgroups) +
          "\n  source: " + (scenario.by_records ? "records" : "descriptors") +
          "\n  records_buffer: 8MiB\n";  // so that the ring is drained in polls only
  if (!scenario.left_out.empty()) text += "cpus:\n  exclude: [\"" + scenario.left_out + "\"]\n";
  return text;
}

/// One way to spend a round.
struct Contender {
  std::string name;
  std::function<void()> start;
  std::function<bool()> is_done;
  std::function<void(std::chrono::nanoseconds)> rest;  ///< lets the round run, or time pass
  std::function<void()> prepare = [] {};               ///< not part of the round
};

void sleep(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

/// Waits for the end of a round that took longer than its time, and until threads are asleep.
bool await_end(const Contender& contender, std::chrono::nanoseconds spacing) {
  const auto deadline = std::chrono::steady_clock::now() + kRoundEnds;
  while (!contender.is_done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    contender.rest(spacing);
  }
  return true;
}

Error does_not_end(const Contender& contender) {
  return Error{ETIMEDOUT, "wait for the end of a round of " + contender.name, {}};
}

Result<> run_round(const Contender& contender, std::chrono::nanoseconds spacing,
                   std::vector<double>& times) {
  contender.prepare();
  const std::chrono::nanoseconds before = process_cpu_time();
  contender.start();
  contender.rest(spacing);
  std::chrono::nanoseconds after = process_cpu_time();
  if (!contender.is_done()) {
    if (!await_end(contender, spacing)) return does_not_end(contender);
    contender.rest(spacing);
    after = process_cpu_time();
  }
  times.push_back(std::chrono::duration<double, std::micro>(after - before).count());
  return {};
}

Result<> run_pair(bool floor_first, const Contender& floor, const Contender& daemon,
                  std::chrono::nanoseconds spacing, RoundTimes& times) {
  const auto run_floor = [&] { return run_round(floor, spacing, times.floor); };
  const auto run_daemon = [&] { return run_round(daemon, spacing, times.daemon); };
  Result<> first = floor_first ? run_floor() : run_daemon();
  if (!first) return first;
  return floor_first ? run_daemon() : run_floor();
}

Result<> run_interleaved(const Scenario& scenario, const Contender& floor, const Contender& daemon,
                         Cost& cost) {
  RoundTimes warming_up;
  RoundTimes times;
  for (std::size_t round = 0; round < kWarmUpRounds + scenario.rounds; ++round) {
    Result<> done = run_pair(round % 2 == 0, floor, daemon, scenario.spacing,
                             round < kWarmUpRounds ? warming_up : times);
    if (!done) return done;
  }
  times.summarise_into(cost);
  return {};
}

/// Both sides have read the same groups all the time. By records, a group is open now and then to
/// compare; all of them, if the kernel left out records.
Result<> check_same_groups(const Scenario& scenario, const RecordingKernel& kernel,
                           const Floor& floor, const Cost& cost) {
  if (scenario.by_records) {
    constexpr std::size_t kComparisons = 10;
    if (kernel.events() <= kComparisons * perf::kMaxGroupMembers) return {};
    return Error{0, "count by records in all rounds: the kernel has left out some",
                 "let nothing else run meanwhile"};
  }
  if (floor.failure() == 0 && kernel.events() == cost.events) return {};
  return Error{floor.failure(),
               "read the same groups in all rounds: the daemon has opened some anew",
               "leave CPUs online and let no other program touch these cgroups meanwhile"};
}

/// Whether everything that the scenario asks for is open, and how much that is.
Result<> check_groups(const Scenario& scenario, const RecordingKernel& kernel, Cost& cost) {
  for (const auto& [cpu, leaders] : kernel.leaders()) cost.groups += leaders.size();
  cost.events = kernel.events();
  const std::size_t wanted =
      scenario.cpus * (scenario.by_records ? 0 : std::max<std::size_t>(scenario.cgroups, 1));
  if (cost.groups == wanted) return {};
  return Error{0,
               "open " + std::to_string(wanted) + " groups: only " + std::to_string(cost.groups) +
                   " are open",
               "run as root, with a hard limit of open files (ulimit -Hn) above 7 for each group"};
}

void note_memory(Cost& cost) {
  if (const auto own = host::SelfProcessReader().read()) cost.resident_bytes = own->resident_bytes;
}

double microseconds_since(std::chrono::nanoseconds before) {
  return std::chrono::duration<double, std::micro>(process_cpu_time() - before).count();
}

Contender contender_of(Floor& floor) {
  return {"the floor", [&floor] { floor.start_round(); }, [&floor] { return floor.is_done(); },
          sleep};
}

/// A collector, and what its owner holds of the last poll.
struct Polled {
  collect::PollReport report;
  std::shared_ptr<const collect::Snapshot> snapshot;
  std::size_t started = 0;
  std::atomic<std::size_t> done = 0;
  std::unique_ptr<collect::Collector> collector;

  void start() {
    ++started;
    (void)collector->poll(
        [this](collect::PollReport polled, std::shared_ptr<const collect::Snapshot> published) {
          report = std::move(polled);
          snapshot = std::move(published);
          ++done;
        });
  }
};

Result<std::unique_ptr<collect::Collector>> start_collector(const Scenario& scenario,
                                                            perf::PerfKernel& kernel) {
  config::Loaded loaded = config::load_text(config_text(scenario), "bench_poll");
  if (loaded.diagnostics.has_errors()) return error_of(loaded.diagnostics.errors().front());
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned =
      plan::plan_for_machine(std::move(loaded.config), scenario.roots, kernel);
  if (!planned) return error_of(planned.error().front());
  Result<daemon::CountingSession> counting =
      daemon::start_counting(std::move(*planned), scenario.roots, kernel);
  if (!counting) return counting.error();
  return std::move(counting->collector);
}

}  // namespace

Result<Cost> measure_poll(const Scenario& scenario, Assistant&) {
  RecordingKernel kernel;
  Polled polled;
  Result<std::unique_ptr<collect::Collector>> collector = start_collector(scenario, kernel);
  if (!collector) return collector.error();
  polled.collector = std::move(*collector);
  kernel.forget();
  const Contender daemon{"the daemon", [&] { polled.start(); },
                         [&] { return polled.done == polled.started; }, sleep, scenario.work};

  Cost cost;
  const std::chrono::nanoseconds before = process_cpu_time();
  daemon.start();
  daemon.rest(scenario.spacing);
  if (!await_end(daemon, scenario.spacing)) return does_not_end(daemon);
  if (const Result<> all = check_groups(scenario, kernel, cost); !all) return all.error();
  cost.open_us = microseconds_since(before) / static_cast<double>(cost.groups);

  Floor bare{kernel.leaders()};
  const Contender floor = contender_of(bare);
  if (const Result<> run = run_interleaved(scenario, floor, daemon, cost); !run) return run.error();
  if (const Result<> same = check_same_groups(scenario, kernel, bare, cost); !same)
    return same.error();
  if ((!scenario.by_records && polled.report.groups_read != cost.groups) ||
      !polled.report.errors.empty()) {
    return Error{0, "read all groups in the last poll", {}};
  }
  note_memory(cost);
  return cost;
}

namespace {

/// Bare reads and a bare answer.
Contender contender_of(Floor& reads, BareAnswer& answer, Assistant& assistant, bool& waiting) {
  const auto start = [&] {
    reads.start_round();
    assistant.ask_to_scrape(answer.port(), true);
    answer.serve();
    waiting = true;
  };
  const auto is_done = [&] {
    if (waiting) waiting = !assistant.scraped_bytes();
    return !waiting && reads.is_done();
  };
  return {"the floor", start, is_done, sleep};
}

enum class Scrape { kPlain, kCompressed };

Result<Cost> measure_program(const Scenario& scenario, Assistant& assistant, Scrape kind) {
  const bool gzip = kind == Scrape::kCompressed;
  // The program takes its configuration from a file: this one has no name and leaves nothing.
  const std::string text = config_text(scenario);
  const UniqueFd file{::memfd_create("bench_poll", MFD_CLOEXEC)};
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) {
    return Error{errno, "write the configuration", {}};
  }
  daemon::Options options;
  options.config_file = "/proc/self/fd/" + std::to_string(file.get());
  options.listen_addresses = {"127.0.0.1:0"};
  options.roots = scenario.roots;

  RecordingKernel kernel;
  daemon::Log log{daemon::LogLevel::kWarn, daemon::LogFormat::kLogfmt};
  boost::asio::io_context loop{1};
  daemon::App app{loop, options, kernel, log};
  if (const auto started = app.start(); !started) return started.error().front();
  if (const Result<void, std::vector<Error>> listening = app.listen(); !listening) {
    return listening.error().front();
  }
  const std::uint16_t port = app.ports().front();
  kernel.forget();

  Cost cost;
  bool waiting = false;
  const auto start = [&] { waiting = app.poll([&] { assistant.ask_to_scrape(port, gzip); }); };
  const auto run_loop = [&](std::chrono::nanoseconds time) { loop.run_for(time); };
  const auto is_scraped = [&] {
    if (waiting) {
      const std::optional<std::uint64_t> bytes = assistant.scraped_bytes();
      waiting = !bytes;
      cost.scrape_bytes = bytes.value_or(0);
    }
    return !waiting && cost.scrape_bytes > 0;
  };
  const Contender daemon{"the daemon", start, is_scraped, run_loop, scenario.work};

  daemon.start();
  run_loop(scenario.spacing);
  if (!await_end(daemon, scenario.spacing)) return does_not_end(daemon);
  if (const Result<> all = check_groups(scenario, kernel, cost); !all) return all.error();
  Floor bare{kernel.leaders()};
  BareAnswer answer{[&app] { return app.scrape(exposition::Format::kText); }};
  bool answering = false;
  const Contender floor =
      gzip ? contender_of(bare, answer, assistant, answering) : contender_of(bare);
  if (const Result<> run = run_interleaved(scenario, floor, daemon, cost); !run) return run.error();
  if (const Result<> same = check_same_groups(scenario, kernel, bare, cost); !same)
    return same.error();
  note_memory(cost);
  app.stop();
  return cost;
}

}  // namespace

Result<Cost> measure_poll_and_scrape(const Scenario& scenario, Assistant& assistant) {
  return measure_program(scenario, assistant, Scrape::kPlain);
}

Result<Cost> measure_compressed_scrape(const Scenario& scenario, Assistant& assistant) {
  return measure_program(scenario, assistant, Scrape::kCompressed);
}

}  // namespace pex::bench
