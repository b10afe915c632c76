// What a poll costs us on a machine with many CPUs and cgroups, without what it costs the kernel,
// which is a scripted one that answers at once.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/poll/data_path.h"
#include "bench/poll/switching_kernel.h"
#include "bench/support/cost.h"
#include "bench/support/synthetic_snapshot.h"
#include "exposition/renderer.h"
#include "http/gzip.h"
#include "records/record_source.h"

namespace pex::bench {
namespace {

constexpr Machine kMachines[] = {{256, 200}, {64, 1000}, {128, 1000}, {256, 2000}};

struct Options {
  std::size_t rounds = 15;
};

double heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

/// What several rounds took, in microseconds.
class Rounds {
 public:
  void add(double time) { times_.push_back(time); }
  double us() const { return quantile(times_, 0.5); }
  double ms() const { return us() / 1000; }

 private:
  std::vector<double> times_;
};

/// A column of the table: two lines above it, and its format.
struct Column {
  const char* name;
  const char* unit;
  int decimals;
};
constexpr Column kColumns[] = {
    {"open", "ms", 0},     {"heap", "B/tgt", 0},  {"+ledger", "B/tgt", 0}, {"drain", "ns/rec", 0},
    {"poll", "ns/tgt", 1}, {"poll", "us/CPU", 0}, {"prepare", "us", 0},    {"join", "ns/tgt", 1},
    {"piece", "us", 0},    {"longest", "ms", 2},  {"look", "us/CPU", 0},   {"count", "us", 0},
    {"render", "ms", 2},   {"again", "ms", 2},    {"scrape", "MB", 2},     {"gzip", "ms", 2},
};

void print_heading() {
  std::printf("%-22s", "CPUs x cgroups, source");
  for (const Column& column : kColumns) std::printf(" %8s", column.name);
  std::printf("\n%-22s", "");
  for (const Column& column : kColumns) std::printf(" %8s", column.unit);
  std::printf("\n");
}

void print_line(const Machine& machine, const char* source, const std::vector<double>& values) {
  std::printf("%4d x %-5zu %-9s", machine.cpus, machine.cgroups, source);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf(" %8.*f", kColumns[i].decimals, values[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// How cgroups are counted, and how many of them run in each round.
struct Variant {
  const char* name;
  bool by_records;
  bool shares_pmu;
  std::size_t active_percent;
};
constexpr Variant kVariants[] = {
    {"software", false, false, 100},
    {"hardware", false, true, 100},
    {"rec 100%", true, false, 100},
    {"rec 10%", true, false, 10},
};

DataPath::MakeSource sources_of(const Variant& variant, SwitchingKernel& kernel,
                                const std::shared_ptr<const collect::CountingPlan>& plan) {
  if (!variant.by_records) {
    return [&kernel](int cpu) { return std::make_unique<collect::DescriptorSource>(kernel, cpu); };
  }
  return [&kernel, plan](int cpu) {
    return std::make_unique<collect::RecordSource>(kernel, plan, cpu, collect::RecordOptions{},
                                                   std::make_shared<collect::RecordedCpus>());
  };
}

/// Lets cgroups run on all CPUs, and drains the rings. In nanoseconds a record; 0 without.
double run_cgroups(const Machine& machine, const Variant& variant, SwitchingKernel& kernel,
                   DataPath& path) {
  if (!variant.by_records) return 0;
  constexpr int kTurns = 2;
  double drained = 0;
  std::size_t records = 0;
  for (int cpu = 0; cpu < machine.cpus; ++cpu) {
    const auto drain = [&] { drained += microseconds_of([&] { path.drain(cpu); }); };
    for (int turn = 0; turn < kTurns; ++turn) {
      for (std::size_t i = 0; i < machine.cgroups; i += 100 / variant.active_percent, ++records) {
        while (!kernel.leave(cpu, i + 1)) drain();
      }
    }
    drain();
  }
  return drained * 1000 / static_cast<double>(records);
}

/// False when not every target was opened.
bool measure(const Machine& machine, const Variant& variant, const Options& options) {
  SwitchingKernel kernel{machine.targets() * (Machine::kEvents + 1)};
  const Counted counted = counted_on(machine, variant.shares_pmu);
  const double heap_before = heap_bytes();
  DataPath path{counted, machine, sources_of(variant, kernel, counted.plan)};
  const double open_ms = microseconds_of([&] { path.open(); }) / 1000;
  const double heap = heap_bytes() - heap_before;
  if (path.open_targets() != machine.targets()) return false;
  const auto per_target = [&](double sum) { return sum / static_cast<double>(machine.targets()); };
  for (int both = 0; both < 2; ++both) {
    (void)run_cgroups(machine, variant, kernel, path);
    (void)path.poll();
    (void)path.join();
  }
  const double ledger = heap_bytes() - heap_before - heap;

  Rounds drain, polls, poll, prepare, join, piece, longest, count, look, render, again, gzip;
  // By turns, as the renderer keeps the last one.
  const std::shared_ptr<std::string> texts[] = {std::make_shared<std::string>(),
                                                std::make_shared<std::string>()};
  std::string compressed;
  http::Gzip compressor;
  exposition::Renderer renderer;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    drain.add(run_cgroups(machine, variant, kernel, path));
    const PollTimes polled = path.poll();
    const JoinTimes joined = path.join();
    const collect::Snapshot& snapshot = path.snapshot();
    polls.add(polled.all_polls);
    poll.add(polled.poll);
    prepare.add(joined.prepare);
    join.add(joined.all);
    piece.add(joined.piece);
    longest.add(polled.poll + joined.longest);
    count.add(microseconds_of([&] { (void)collect::count_series(snapshot); }));
    const std::shared_ptr<std::string>& text = texts[round % 2];
    {
      exposition::Renderer first;
      render.add(microseconds_of([&] { first.render(&snapshot, NoMetrics{}, {}, text); }));
    }
    again.add(microseconds_of([&] { renderer.render(&snapshot, NoMetrics{}, {}, text); }));
    gzip.add(microseconds_of([&] { compressor.compress(*text, compressed); }));
  }
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const DataPath::Targets changed = path.same_targets_anew();
    look.add(microseconds_of([&] { path.look(changed); }) / machine.cpus);
  }
  print_line(machine, variant.name,
             {open_ms, per_target(heap), per_target(ledger), drain.us(),
              per_target(polls.us() * 1000), poll.us(), prepare.us(), per_target(join.us() * 1000),
              piece.us(), longest.ms(), look.us(), count.us(), render.ms(), again.ms(),
              static_cast<double>(texts[0]->size()) / 1e6, gzip.ms()});
  return true;
}

int run(const Options& options) {
  std::printf(
      "CPU time of our own code alone, medians of %zu rounds; one group of %zu events in each "
      "cgroup, summed over CPUs.\nA target (tgt) is a cgroup on a CPU. software, hardware: by "
      "descriptors; rec: by records of switches, when so many\nof the cgroups have run on each "
      "CPU, twice. open: the first poll of all CPUs. heap: what is kept, and in addition in\n"
      "the ledger. poll: the mean of all targets, and the CPU that takes longest. prepare, join,\n"
      "piece: the snapshot, in pieces, of all targets and the longest one. longest: the worker "
      "that "
      "takes\nlongest for its poll and pieces, when each CPU has one. look: with a new set of "
      "targets, in which\nnothing has changed. render: the text, for the first time and after an "
      "earlier poll.\n\n",
      options.rounds, Machine::kEvents);
  print_heading();
  for (const Machine& machine : kMachines) {
    for (const Variant& variant : kVariants) {
      if (measure(machine, variant, options)) continue;
      std::fprintf(stderr, "bench_scale: not every group was opened\n");
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  pex::bench::Options options;
  CLI::App cli{
      "What a poll of many CPUs and cgroups costs us, over a kernel that answers at once."};
  cli.add_option("--rounds", options.rounds, "Rounds of each kind.")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  CLI11_PARSE(cli, argc, argv);
  return pex::bench::run(options);
}
