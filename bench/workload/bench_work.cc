#include <stdlib.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "bench/support/cgroup_tree.h"
#include "bench/support/cost.h"
#include "bench/support/stop_signals.h"
#include "bench/support/way.h"
#include "bench/workload/compile_work.h"
#include "bench/workload/http_servers.h"
#include "bench/workload/work_rounds.h"
#include "daemon/cli/version.h"
#include "host/cpu_list.h"
#include "host/topology.h"

namespace pex::bench {
namespace {

struct Options {
  std::size_t files = 12;
  double seconds = 4;
  std::size_t rounds = 10;
  std::string cpus;
  bool quick = false;
};
constexpr std::size_t kQuickRounds = 2;
constexpr std::size_t kQuickFiles = 4;
constexpr double kQuickSeconds = 0.5;
constexpr std::size_t kCgroups = 20;
constexpr std::size_t kHashedKiB = 32;  // for each request

/// Removed with all that is in it.
class WorkDirectory {
 public:
  WorkDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "pex_bench.XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) name_ = name;
  }
  ~WorkDirectory() {
    std::error_code ignored;
    if (!name_.empty()) std::filesystem::remove_all(name_, ignored);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// A figure of a sample, of which a table has the median and its ratio to that of 'nothing'.
struct Figure {
  const char* title;
  double (*of)(const WorkSample&);
};
using Table = std::vector<Figure>;

const Table kCompiling = {
    {"CPU s", [](const WorkSample& sample) { return sample.compiling.cpu_seconds; }},
    {"seconds", [](const WorkSample& sample) { return sample.compiling.seconds; }}};
const Table kServing = {
    {"requests/s", [](const WorkSample& sample) { return sample.load.requests_per_second; }},
    {"median us", [](const WorkSample& sample) { return sample.load.median_us; }},
    {"p99 us", [](const WorkSample& sample) { return sample.load.p99_us; }},
    {"CPU us/request", [](const WorkSample& sample) { return sample.load.cpu_us; }}};

std::vector<double> values_of(const std::vector<WorkSample>& samples, const Figure& figure) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const WorkSample& sample : samples) values.push_back(figure.of(sample));
  return values;
}

void print_cell(const Figure& figure, const std::vector<WorkSample>& samples,
                const std::vector<WorkSample>& bare) {
  const std::vector<double> values = values_of(samples, figure);
  std::vector<double> ratios = values;
  const std::vector<double> divisors = values_of(bare, figure);
  for (std::size_t round = 0; round < ratios.size(); ++round) ratios[round] /= divisors[round];
  std::printf(" %14.*f %5.3f %5.3f-%5.3f", quantile(values, 0.5) < 1000 ? 2 : 0,
              quantile(values, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25),
              quantile(ratios, 0.75));
}

void print_table(const char* title, const Table& table, const std::vector<std::string>& names,
                 const std::vector<std::vector<WorkSample>>& samples) {
  std::printf("\n%-21s", title);
  for (const Figure& figure : table) std::printf(" %14s %5s %11s", figure.title, "ratio", "25-75%");
  std::printf("\n");
  for (std::size_t number = 0; number < names.size(); ++number) {
    std::printf("%-21s", names[number].c_str());
    for (const Figure& figure : table) print_cell(figure, samples[number], samples.front());
    std::printf("\n");
  }
}

void print_daemon(const std::vector<Way>& ways, std::size_t cpus,
                  const std::vector<std::vector<WorkSample>>& samples) {
  bool is_complete = true;
  std::printf("\n%-21s %14s %19s\n", "the daemon itself", "CPU %", "CPUs by records");
  for (std::size_t number = 0; number < ways.size(); ++number) {
    if (ways[number] != Way::kDescriptors && ways[number] != Way::kRecords) continue;
    const std::vector<double> used = values_of(
        samples[number], {"", [](const WorkSample& sample) { return sample.daemon_cpu_percent; }});
    const std::vector<double> recorded = values_of(
        samples[number], {"", [](const WorkSample& sample) { return sample.cpus_by_records; }});
    const double fewest = *std::min_element(recorded.begin(), recorded.end());
    std::printf("%-21s %14.2f %12.0f of %zu\n", std::string(name_of(ways[number])).c_str(),
                quantile(used, 0.5), fewest, cpus);
    if (ways[number] == Way::kRecords && fewest < static_cast<double>(cpus)) is_complete = false;
  }
  if (is_complete) return;
  std::printf(
      "\nWhere the kernel does not write all records, as some guests do not on some of their CPUs, "
      "the daemon counts\nby descriptors: then use --cpus with the others.\n");
}

void print_legend(const Options& options, const std::vector<int>& cpus, std::size_t online) {
  utsname kernel{};
  ::uname(&kernel);
  std::printf(
      "perf_event_exporter %s, %s %s %s, %zu CPUs, work on %s\n\n"
      "Real work in %zu cgroups, while the daemon counts them with the groups of the shipped "
      "configuration. Compiling:\ng++ -O1 of %zu files, each in the next cgroup. Serving: a "
      "process "
      "in each cgroup that hashes %zu KiB for a request, one request under way to\neach, for %.1f "
      "s. Medians of %zu rounds, and ratios to 'nothing' of the same round; the order is random.\n",
      std::string(daemon::kVersion).c_str(), kernel.sysname, kernel.release, kernel.machine, online,
      host::format_cpu_list(cpus).c_str(), kCgroups, options.files, kHashedKiB, options.seconds,
      options.rounds);
  std::fflush(stdout);
}

std::vector<std::string> titles_of(const std::vector<Way>& ways) {
  std::vector<std::string> titles;
  titles.reserve(ways.size());
  for (const Way way : ways) titles.emplace_back(name_of(way));
  titles[1] += ", once more";
  return titles;
}

std::vector<int> others(const std::vector<int>& all, const std::vector<int>& some) {
  std::vector<int> others;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(others));
  return others;
}

Result<> measure(const Options& options, const StopSignals& stop) {
  const host::HostRoots roots;
  const Result<std::vector<int>> online = host::online_cpus(roots);
  if (!online) return online.error();
  const Result<std::vector<int>> cpus =
      options.cpus.empty() ? online : host::parse_cpu_list(options.cpus);
  if (!cpus) return cpus.error();
  const WorkDirectory directory;
  const Result<CgroupTree> cgroups = CgroupTree::make(roots, kCgroups);
  if (!cgroups) return cgroups.error();
  const Result<CompileWork> compiling =
      CompileWork::prepare(directory.name(), options.files, *cgroups, *cpus);
  if (!compiling) return compiling.error();
  const Result<HttpServers> servers = HttpServers::start(*cgroups, *cpus, kHashedKiB * 1024);
  if (!servers) return servers.error();

  print_legend(options, *cpus, online->size());
  const WorkScene scene{others(*online, *cpus),
                        *cgroups,
                        *compiling,
                        *servers,
                        std::chrono::duration<double>{options.seconds},
                        PEX_DAEMON,
                        directory.name(),
                        stop};
  const std::vector<Way> ways = {Way::kNothing, Way::kNothing, Way::kDescriptors, Way::kRecords};
  const auto samples = measure_work(ways, options.rounds, scene);
  if (!samples) return samples.error();
  print_table("compiling", kCompiling, titles_of(ways), *samples);
  print_table("serving", kServing, titles_of(ways), *samples);
  print_daemon(ways, cpus->size(), *samples);
  return {};
}

void add_options(CLI::App& cli, Options& options) {
  cli.add_option("--cpus", options.cpus,
                 "List of the CPUs that compilers and servers run on, and that are counted");
  CLI::Option* rounds = cli.add_option("--rounds", options.rounds, "Rounds")
                            ->capture_default_str()
                            ->check(CLI::Range(1, 100'000));
  cli.add_flag("--quick", options.quick, "Few and short rounds: to see it work, not for figures")
      ->excludes(rounds);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App cli{
      "What counting cgroups costs compilers and HTTP servers, against the same with nothing "
      "counted. Needs root and g++; takes about 8 minutes."};
  add_options(cli, options);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error);
  }
  if (options.quick) {
    options.rounds = kQuickRounds;
    options.files = kQuickFiles;
    options.seconds = kQuickSeconds;
  }

  const StopSignals stop;
  const Result<> measured = measure(options, stop);
  if (measured) return 0;
  std::fprintf(stderr, "bench_work: %s\n", describe(measured.error()).c_str());
  return 1;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) { return pex::bench::run(argc, argv); }
