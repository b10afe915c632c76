// What a program reads of its own counters by their control pages, and what read(2) says of them a
// moment later. All of one thread, in user mode.
//
//   control_page
//
// Prints, of each of several readings of each event:
//
//   count EVENT PAGE READ PAGE      the page before read(2) and after it
//   enabled EVENT PAGE READ PAGE    ns, the same
//   running EVENT PAGE READ PAGE    ns, the same
//   none EVENT WHY                  the page could not be read
//   clock RAW TIMESTAMP RAW         ns: the perf clock between two readings of CLOCK_MONOTONIC_RAW
//
// EVENT: cycles, on a counter of 64 bits; instructions, on one of 32 bits; sampled, the same with a
// period, so that the counter starts below 0 and overflows; shared-N, more than there are counters.

#include "abi/control_page.h"

#include <sys/mman.h>
#include <time.h>

#include <deque>
#include <string>
#include <utility>

#include "counter.h"
#include "perf/linux_perf_kernel.h"

namespace {

using namespace pex;
using namespace pex::test;

constexpr std::uint64_t kCycles = 0x11;
constexpr std::uint64_t kLong = 1;        // bits of config1
constexpr std::uint64_t kUserAccess = 2;  // (drivers/perf/arm_pmuv3.c)
constexpr std::uint64_t kPeriod = 300'000;
constexpr int kShared = 12;  // the PMU has 6 counters, and one for cycles
constexpr int kRounds = 40;

struct Event {
  std::string name;
  perf::OpenCounter counter;
  perf::ControlPage page;
};

Event open_event(perf::PerfKernel& kernel, std::string name, std::uint64_t config,
                 std::uint64_t config1, std::uint64_t period = 0) {
  perf::EventAttr attr;
  attr.size = perf::kAttrSizeVer7;
  attr.type = pmu_type();
  attr.config = config;
  attr.config1 = config1;
  attr.sample_period = period;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.flags = attr_flag(perf::AttrFlag::kExcludeKernel) | attr_flag(perf::AttrFlag::kExcludeHv);
  auto counter = kernel.open_event(attr, {.pid = 0});
  if (!counter) die("perf_event_open");
  auto page = perf::ControlPage::map(kernel, counter->fd.get());
  if (!page) die("mmap");
  return {std::move(name), *std::move(counter), *std::move(page)};
}

void print(const char* what, const Event& event, std::uint64_t before, std::uint64_t read,
           std::uint64_t after) {
  std::printf("%s %s %llu %llu %llu\n", what, event.name.c_str(),
              static_cast<unsigned long long>(before), static_cast<unsigned long long>(read),
              static_cast<unsigned long long>(after));
}

void print_reading(const Event& event) {
  struct {
    std::uint64_t count, enabled, running;
  } read{};
  const auto before = event.page.read();
  const bool is_read = ::read(event.counter.fd.get(), &read, sizeof read) == sizeof read;
  const auto after = event.page.read();
  if (!is_read) die("read");
  if (!before || !after) {
    const auto reason = before ? after.error() : before.error();
    std::printf("none %s %s\n", event.name.c_str(), std::string(describe(reason)).c_str());
    return;
  }
  print("count", event, before->count, read.count, after->count);
  if (!before->times || !after->times) {
    std::printf("none %s times\n", event.name.c_str());
    return;
  }
  print("enabled", event, before->times->enabled, read.enabled, after->times->enabled);
  print("running", event, before->times->running, read.running, after->times->running);
}

std::uint64_t raw_clock() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void print_clock(const Event& event) {
  const std::uint64_t before = raw_clock();
  const auto timestamp = event.page.timestamp_now();
  const std::uint64_t after = raw_clock();
  if (!timestamp) {
    std::printf("none clock %s\n", std::string(describe(timestamp.error())).c_str());
    return;
  }
  std::printf("clock %llu %llu %llu\n", static_cast<unsigned long long>(before),
              static_cast<unsigned long long>(*timestamp), static_cast<unsigned long long>(after));
}

void work() {
  [[maybe_unused]] static volatile int sink = 0;
  for (int i = 0; i < 200'000; ++i) sink = i;
}

void print_rounds(const std::deque<Event>& events) {
  for (int round = 0; round < kRounds; ++round) {
    work();
    for (const Event& event : events) print_reading(event);
    print_clock(events.front());
  }
}

}  // namespace

int main() {
  perf::LinuxPerfKernel kernel;
  {
    std::deque<Event> alone;
    alone.push_back(open_event(kernel, "cycles", kCycles, kLong | kUserAccess));
    alone.push_back(open_event(kernel, "instructions", kInstructionsRetired, kUserAccess));
    alone.push_back(open_event(kernel, "sampled", kInstructionsRetired, kUserAccess, kPeriod));
    print_rounds(alone);
  }
  std::deque<Event> shared;
  for (int i = 0; i < kShared; ++i) {
    shared.push_back(
        open_event(kernel, "shared-" + std::to_string(i), kInstructionsRetired, kUserAccess));
  }
  print_rounds(shared);
}
