// A program to be watched from outside: a function called and a variable written a known number of
// times.
//
//   probed CGROUP_DIRECTORY CPU TIMES
//
// Moves itself into the cgroup and onto the CPU, prints the address of the variable and blocks. A
// line on stdin lets it do its work; then it prints how often and blocks again, until a second line
// ends it. The function's name is `pex_probed_call`.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "watched.h"

namespace {

using namespace pex::test;

volatile long written = 0;

}  // namespace

extern "C" __attribute__((noinline)) void pex_probed_call(long number) { written = number; }

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: probed CGROUP_DIRECTORY CPU TIMES\n", stderr);
    return 2;
  }
  const long times = std::atol(argv[3]);
  join_cgroup(argv[1]);
  pin_to(std::atol(argv[2]));
  std::printf("address=%p\n", static_cast<const volatile void*>(&written));
  std::fflush(stdout);
  await_line();
  for (long i = 0; i < times; ++i) pex_probed_call(i);
  std::printf("times=%ld\n", times);
  std::fflush(stdout);
  await_line();
  return 0;
}
