#include "perf/known_work.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <ctime>
#include <system_error>
#include <thread>

#include "host/self_process.h"
#include "perf/mapping.h"

namespace pex::perf {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kPiece = 1000;    // iterations between two looks at the other thread
constexpr std::uint64_t kMaxLonger = 16;  // times the iterations, to wait for the other thread
constexpr nanoseconds kShort = std::chrono::microseconds{20};

#if defined(__x86_64__)
constexpr Bounds kInstructionsEach = {4, 4};
void iterate(std::uint64_t iterations) {
  std::uint64_t sum = 0;
  asm volatile("1: add $1, %1\n add $3, %1\n dec %0\n jnz 1b" : "+r"(iterations), "+r"(sum)::"cc");
}
#elif defined(__aarch64__)
constexpr Bounds kInstructionsEach = {4, 4};
void iterate(std::uint64_t iterations) {
  std::uint64_t sum = 0;
  asm volatile("1: add %1, %1, #1\n add %1, %1, #3\n subs %0, %0, #1\n b.ne 1b"
               : "+r"(iterations), "+r"(sum)::"cc");
}
#else
constexpr Bounds kInstructionsEach = {1, 16};
void iterate(std::uint64_t iterations) {
  for (; iterations > 0; --iterations) asm volatile("" : "+r"(iterations));
}
#endif

/// Another thread that works on another CPU.
class OtherThread {
 public:
  OtherThread(int cpu, std::uint64_t iterations)
      : thread_([this, cpu, iterations] {
          host::block_signals();
          if (!host::bind_thread_to(cpu)) return done_.store(true);
          has_begun_ = true;
          for (std::uint64_t i = 0; !must_end_; i += kPiece) {
            iterate(kPiece);
            if (i >= iterations) done_ = true;
          }
        }) {
    while (!has_begun_ && !done_) std::this_thread::sleep_for(kShort);
  }
  ~OtherThread() {
    must_end_ = true;
    thread_.join();
  }
  OtherThread(const OtherThread&) = delete;
  OtherThread& operator=(const OtherThread&) = delete;

  bool is_done() const { return done_; }

 private:
  std::atomic<bool> has_begun_ = false;
  std::atomic<bool> done_ = false;
  std::atomic<bool> must_end_ = false;
  std::thread thread_;  ///< last, as it uses the others
};

/// The iterations that were done.
std::uint64_t iterate(const KnownWork& work) {
  std::optional<OtherThread> other;
  if (work.busy_cpu >= 0) other.emplace(work.busy_cpu, work.iterations);
  std::uint64_t done = 0;
  while (done < work.iterations ||
         (other && !other->is_done() && done < kMaxLonger * work.iterations)) {
    iterate(kPiece);
    done += kPiece;
  }
  return done;
}

/// Large pages would be fewer faults.
bool touch(std::size_t pages) {
  if (pages == 0) return true;
  const std::size_t page = page_size();
  void* const memory =
      ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  ::munmap(memory, pages * page);
  return true;
}

bool read_usage(rusage& thread) { return ::getrusage(RUSAGE_THREAD, &thread) == 0; }

std::uint64_t switches_of(const rusage& thread) {
  return static_cast<std::uint64_t>(thread.ru_nvcsw + thread.ru_nivcsw);
}

}  // namespace

nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
}

std::optional<WorkDone> do_known_work(const KnownWork& work) {
  if (!host::bind_thread_to(work.cpu)) return {};
  WorkDone done;
  rusage before{}, rested{}, after{};
  if (!read_usage(before)) return {};
  const nanoseconds begun = thread_time();
  std::uint64_t iterations = 0;
  try {
    iterations = iterate(work);
  } catch (const std::system_error&) {
    return {};
  }
  if (!touch(work.pages)) return {};
  done.cpu_time = thread_time() - begun;  // a part of a switch is in no event of the thread
  for (std::size_t i = 0; i < work.sleeps; ++i) std::this_thread::sleep_for(work.sleep);
  if (!read_usage(rested)) return {};
  if (work.other_cpu >= 0 && host::bind_thread_to(work.other_cpu)) {
    if (!host::bind_thread_to(work.cpu)) return {};
    ++done.migrations;
  }
  if (!read_usage(after)) return {};
  done.instructions = {iterations * kInstructionsEach.least, iterations * kInstructionsEach.most};
  done.branches = {iterations, iterations};
  done.faults = static_cast<std::uint64_t>(after.ru_minflt - before.ru_minflt);
  done.switches = {switches_of(rested) - switches_of(before),
                   switches_of(after) - switches_of(before)};
  done.thread_time = thread_time();
  return done;
}

}  // namespace pex::perf
