// Work of a known size inside a cgroup, for the tests against the real kernel.
//
//   workload CGROUP_DIRECTORY [CPU [SWITCHES [PAGES [CPU_MS]]]]
//
// Moves itself into the cgroup and onto the CPU, prints "waiting" and blocks. A line on stdin lets
// it give up the CPU exactly SWITCHES times, touch exactly PAGES new pages and compute for CPU_MS;
// then it prints what its own getrusage(2) saw of that as key=value and blocks again. A second line
// ends it. While it is blocked nothing can add to its numbers, so a caller can compare exactly.

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "watched.h"

namespace {

using namespace pex::test;

struct Amounts {
  long cpu = 1;
  long switches = 100'000;
  long pages = 50'000;
  long cpu_ms = 2'000;
};

long argument(int argc, char** argv, int index, long otherwise) {
  return index < argc ? std::atol(argv[index]) : otherwise;
}

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) die("clock_gettime");
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

rusage own_usage() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) die("getrusage");
  return usage;
}

/// A pause gives up the CPU once, or not at all when its end comes before its sleep, as short ones
/// do where timers are dear (virtual machines): so each one is looked at.
void give_up_cpu(long times) {
  if (::prctl(PR_SET_TIMERSLACK, 1) != 0) die("prctl");
  const long until = own_usage().ru_nvcsw + times;
  constexpr timespec kPause{0, 20'000};
  while (own_usage().ru_nvcsw < until) ::nanosleep(&kPause, nullptr);
}

/// Pages stay small and untouched until here, so each one is one fault.
void touch_new_pages(long pages) {
  const long page_size = ::sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::size_t>(pages * page_size);
  if (bytes == 0) return;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);  // fails only where there are no huge pages
  auto* const first = static_cast<volatile char*>(memory);
  for (long page = 0; page < pages; ++page) first[page * page_size] = 1;
  ::munmap(memory, bytes);
}

/// What it did up to here is in the records of the cgroup that it comes from.
void rest() {
  constexpr timespec kRest{0, 1'000'000};
  ::nanosleep(&kRest, nullptr);
}

void compute_for(std::int64_t ns) {
  const std::int64_t until = nanoseconds(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (nanoseconds(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: workload CGROUP_DIRECTORY [CPU [SWITCHES [PAGES [CPU_MS]]]]\n", stderr);
    return 2;
  }
  Amounts amounts;
  amounts.cpu = argument(argc, argv, 2, amounts.cpu);
  amounts.switches = argument(argc, argv, 3, amounts.switches);
  amounts.pages = argument(argc, argv, 4, amounts.pages);
  amounts.cpu_ms = argument(argc, argv, 5, amounts.cpu_ms);
  rest();
  join_cgroup(argv[1]);
  pin_to(amounts.cpu);
  std::puts("waiting");
  std::fflush(stdout);
  await_line();

  const rusage before = own_usage();
  const std::int64_t cpu_before = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  give_up_cpu(amounts.switches);
  const long nvcsw = own_usage().ru_nvcsw - before.ru_nvcsw;
  touch_new_pages(amounts.pages);
  compute_for(amounts.cpu_ms * 1'000'000);
  const rusage after = own_usage();
  const std::int64_t cpu_after = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);

  std::printf("nvcsw=%ld nivcsw=%ld minflt=%ld majflt=%ld cpu_ns=%lld\n", nvcsw,
              after.ru_nivcsw - before.ru_nivcsw, after.ru_minflt - before.ru_minflt,
              after.ru_majflt - before.ru_majflt, static_cast<long long>(cpu_after - cpu_before));
  std::fflush(stdout);
  await_line();
  return 0;
}
