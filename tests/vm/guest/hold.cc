// Takes programmable counters of one CPU, as any other program may.
//
//   hold CPU COUNTERS
//
// Waits for the CPU to be online, opens so many pinned events at once and keeps them until it is
// ended.

#include <cerrno>
#include <cstdlib>

#include "counter.h"

int main(int argc, char** argv) {
  using namespace pex::test;
  if (argc != 3) {
    std::fputs("usage: hold CPU COUNTERS\n", stderr);
    return 2;
  }
  perf_event_attr attr = attributes(pmu_type(), kInstructionsRetired);
  attr.pinned = 1;
  for (int left = std::atoi(argv[2]); left > 0;) {
    if (try_open_counter(attr, -1, std::atoi(argv[1])) >= 0) {
      --left;
    } else if (errno != ENODEV) {  // ENODEV: the CPU is offline
      die("perf_event_open");
    }
  }
  std::puts("holding");
  std::fflush(stdout);
  ::pause();
}
