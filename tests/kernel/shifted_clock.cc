// For LD_PRELOAD: the date of one process is that of the machine plus so many nanoseconds as the
// file $PEX_TEST_CLOCK_SHIFT has at the moment, in 8 bytes of this machine's order.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

std::int64_t shift() {
  static const volatile std::int64_t* const kShift = [] {
    const int file = ::open(::getenv("PEX_TEST_CLOCK_SHIFT"), O_RDONLY | O_CLOEXEC);
    void* const mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    return mapped == MAP_FAILED ? nullptr : static_cast<const std::int64_t*>(mapped);
  }();
  return kShift == nullptr ? 0 : *kShift;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (::syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
  const std::int64_t shifted = now->tv_sec * kSecond + now->tv_nsec + shift();
  *now = {shifted / kSecond, shifted % kSecond};
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  *now = {at.tv_sec, at.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  if (now != nullptr) *now = at.tv_sec;
  return at.tv_sec;
}

}  // extern "C"
