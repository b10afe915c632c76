#include "bench/workload/work_rounds.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>

#include "bench/workload/daemon_process.h"
#include "config/default_config.h"
#include "host/cpu_list.h"

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSeed = 1;
/// As in switch_rounds.cc: the kernel needs a while to forget events of cgroups.
constexpr std::chrono::milliseconds kLookingEnds{1200};

/// From its key to the next one.
std::string_view shipped_groups() {
  const std::string_view all{config::kDefaultConfig};
  const std::size_t start = all.find("\ngroups:") + 1;
  return all.substr(start, all.find("\ncgroups:") + 1 - start);
}

/// The groups of the shipped configuration, for the cgroups of the work alone.
std::string work_configuration(Way way, const WorkScene& scene) {
  std::string text = std::string(shipped_groups()) +
                     "\ncgroups:\n  source: " + std::string(name_of(way)) + "\n  include: [\"" +
                     scene.cgroups.glob() + "\"]\n";
  if (scene.uncounted_cpus.empty()) return text;
  return text + "cpus:\n  exclude: [\"" + host::format_cpu_list(scene.uncounted_cpus) + "\"]\n";
}

Result<> sleep_until(Clock::time_point time, const StopSignals& stop) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()).count();
  pollfd waited{stop.descriptor(), POLLIN, 0};
  if (left <= 0 || ::poll(&waited, 1, static_cast<int>(left)) == 0) return {};
  return Error{EINTR, "measure", {}};
}

Result<WorkSample> do_work(const WorkScene& scene) {
  const Result<CompileWork::Cost> compiling = scene.compiling.run(scene.stop);
  if (!compiling) return compiling.error();
  const Result<LoadResult> answered = load(scene.servers, scene.load_time, scene.stop);
  if (!answered) return answered.error();
  return WorkSample{*compiling, *answered};
}

Result<WorkSample> do_work_with_daemon(Way way, const WorkScene& scene) {
  const Result<DaemonProcess> daemon =
      DaemonProcess::start(scene.daemon, work_configuration(way, scene), scene.directory);
  if (!daemon) return daemon.error();
  const Result<> counts = daemon->wait_for_cgroups(scene.cgroups.size(), scene.stop);
  if (!counts) return counts.error();

  const auto start = Clock::now();
  const std::chrono::nanoseconds cpu_start = daemon->cpu_time();
  Result<WorkSample> sample = do_work(scene);
  if (!sample) return sample;
  const std::chrono::duration<double> cpu = daemon->cpu_time() - cpu_start;
  const std::chrono::duration<double> took = Clock::now() - start;
  sample->daemon_cpu_percent = 100 * cpu.count() / took.count();
  sample->cpus_by_records =
      daemon->sample("perf_event_exporter_cgroup_source_cpus{source=\"records\"}").value_or(0);
  return sample;
}

Result<WorkSample> measure_way(Way way, const WorkScene& scene) {
  if (way == Way::kNothing) return do_work(scene);
  return do_work_with_daemon(way, scene);
}

}  // namespace

Result<std::vector<std::vector<WorkSample>>> measure_work(const std::vector<Way>& ways,
                                                          std::size_t rounds,
                                                          const WorkScene& scene) {
  std::vector<std::vector<WorkSample>> samples(ways.size());
  std::vector<std::size_t> order(ways.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 chance{kSeed};
  Clock::time_point closed{};
  for (std::size_t round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), chance);
    for (const std::size_t number : order) {
      const Result<> quiet = sleep_until(closed + kLookingEnds, scene.stop);
      if (!quiet) return quiet.error();
      const Result<WorkSample> sample = measure_way(ways[number], scene);
      if (!sample) return sample.error();
      samples[number].push_back(*sample);
      closed = Clock::now();
    }
  }
  return samples;
}

}  // namespace pex::bench
