#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "report.h"
#include "targets.h"

namespace pex::bench {
namespace {

constexpr const char* kBegin = "<!-- begin: ./dev bench accuracy --write -->\n";
constexpr const char* kEnd = "<!-- end -->\n";

struct Options {
  bool quick = false;
  bool write = false;
  std::string recordings = PEX_ACCURACY_DIRECTORY "/recordings";
  std::string docs = PEX_ACCURACY_DIRECTORY "/../../docs";
};

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  return static_cast<bool>(file.flush());
}

/// What stands between the marks in `page` gives way to `tables`; empty when there are none.
std::string renewed(const std::string& page, const std::string& tables) {
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return page.substr(0, begin) + kBegin + "\n" + tables + "\n" + page.substr(end);
}

bool write_docs(const Options& options, const std::string& tables, const std::string& picture) {
  const std::string path = options.docs + "/accuracy.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string text = renewed(page.str(), tables);
  return !text.empty() && write_file(path, text) &&
         write_file(options.docs + "/accuracy.svg", picture);
}

Extent extent_of(const Options& options) {
  Extent extent;
  if (options.quick) extent.seeds = 2, extent.sweep_seeds = 2;
  extent.threads = std::max(1U, std::thread::hardware_concurrency());
  return extent;
}

int run(const Options& options) {
  const Result<std::vector<Recording>> recordings = read_recordings(options.recordings);
  if (!recordings) {
    std::fprintf(stderr, "bench_accuracy: %s\n", describe(recordings.error()).c_str());
    return 2;
  }
  const std::vector<Cell> cells = simulate(extent_of(options));
  const std::vector<Replay> replays = replay_all(*recordings);

  const std::vector<CgroupCell> cgroups = simulate_cgroup_times();
  const std::string tables = report(cells, cgroups, replays);
  std::fputs(tables.c_str(), stdout);
  if (options.write && !write_docs(options, tables, plot(cells))) {
    std::fprintf(stderr, "bench_accuracy: could not renew accuracy.md and accuracy.svg in '%s'\n",
                 options.docs.c_str());
    return 2;
  }
  const std::vector<std::string> missed = missed_targets(cells, cgroups, replays);
  std::printf("\n%zu targets missed\n", missed.size());
  for (const std::string& line : missed) std::printf("missed: %s\n", line.c_str());
  return missed.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  pex::bench::Options options;
  CLI::App app{
      "How near the formulas of several exporters come to the truth, when groups share the PMU:\n"
      "simulated, and on recordings of a real kernel. Ends with 1 when ours misses a target."};
  app.add_flag("--quick", options.quick, "simulate less");
  app.add_flag("--write", options.write, "renew the tables of docs/accuracy.md, and accuracy.svg");
  app.add_option("--recordings", options.recordings, "directory of the recordings");
  app.add_option("--docs", options.docs, "directory of accuracy.md");
  CLI11_PARSE(app, argc, argv);
  return pex::bench::run(options);
}
