#include "support/real_events.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

namespace pex::test {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

void RealEventsTest::SetUp() {
  cpu_set_t cpus;
  ASSERT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) allowed_.push_back(cpu);
  }
  cpu_ = ::sched_getcpu();
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<std::size_t>(cpu_), &cpus);
  ASSERT_EQ(::sched_setaffinity(0, sizeof cpus, &cpus), 0);

  const auto event =
      perf::open_sampling(kernel_, software_request(PERF_COUNT_SW_DUMMY), this_cpu());
  if (event) return;
  const int code = event.error().code;
  if (code == EACCES || code == EPERM || code == ENOSYS) {
    GTEST_SKIP() << "perf_event_open is not allowed here: " << errno_name(code);
  }
  FAIL() << describe(event.error());
}

void RealEventsTest::TearDown() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const std::size_t cpu : allowed_) CPU_SET(cpu, &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

bool undisturbed(const std::function<Disturbance()>& attempt, int attempts) {
  for (int number = 1; number <= attempts; ++number) {
    const Disturbance disturbance = attempt();
    if (!disturbance) return true;
    std::cout << "attempt " << number << " of " << attempts << " was disturbed: " << *disturbance
              << std::endl;
  }
  return false;
}

perf::SamplingRequest software_request(std::uint64_t config) {
  perf::SamplingRequest request;
  request.event = {.type = PERF_TYPE_SOFTWARE, .config = config};
  request.disabled = false;
  return request;
}

RecordedEvent::RecordedEvent(perf::PerfKernel& kernel, const perf::SamplingRequest& request,
                             const perf::EventTarget& target, std::size_t ring_bytes)
    : kernel_(kernel) {
  auto layout = perf::SampleLayout::of(request);
  auto event = perf::open_sampling(kernel, request, target);
  if (!layout || !event) {
    ADD_FAILURE() << describe(layout ? event.error() : layout.error());
    return;
  }
  layout_ = *layout;
  event_ = *std::move(event);
  const auto mode = request.write_backward ? perf::RingMode::kOverwrite : perf::RingMode::kForward;
  auto ring = perf::RingBuffer::open(kernel, event_.fd.get(), {ring_bytes, ring_bytes}, mode);
  if (ring) {
    ring_ = *std::move(ring);
  } else {
    ADD_FAILURE() << describe(ring.error());
  }
}

void RecordedEvent::during(const std::function<void()>& work) {
  EXPECT_TRUE(kernel_.control(fd(), perf::EventControl::kEnable, 0));
  work();
  EXPECT_TRUE(kernel_.control(fd(), perf::EventControl::kDisable, 0));
}

perf::RingReport RecordedEvent::drain() {
  if (!ring_) return {};
  const perf::RingReport report = ring_->drain([this](std::span<const std::byte> record) {
    records_.emplace_back(record.begin(), record.end());
  });
  EXPECT_EQ(report.unreadable, 0U);
  return report;
}

std::uint64_t time_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t count_of(const perf::OpenCounter& event) {
  std::uint64_t words[64] = {};
  EXPECT_GT(::read(event.fd.get(), words, sizeof words), 0) << errno_name(errno);
  return words[0];
}

WaitingChild::WaitingChild(const std::function<void()>& work) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd wait{ends[0]};
  go_.reset(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  go_.reset();
  char byte = 0;
  if (::read(wait.get(), &byte, 1) == 1) work();
  ::_exit(0);
}

WaitingChild::~WaitingChild() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void WaitingChild::run() {
  EXPECT_EQ(::write(go_.get(), "", 1), 1);
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
  EXPECT_EQ(status, 0);
  pid_ = -1;
}

TemporaryCgroup::TemporaryCgroup(const std::string& mount, const std::string& suffix)
    : name_("/perf_event_exporter_test." + std::to_string(::getpid()) + suffix),
      directory_(mount + name_),
      is_made_(::mkdir(directory_.c_str(), 0755) == 0) {}

/// The kernel can take a moment after the end of the last process.
TemporaryCgroup::~TemporaryCgroup() {
  constexpr int kTries = 1000;
  constexpr useconds_t kPause = 1000;
  for (int tries = 0; is_made_ && tries < kTries; ++tries) {
    if (::rmdir(directory_.c_str()) == 0) return;
    ::usleep(kPause);
  }
}

std::uint64_t TemporaryCgroup::id() const {
  struct stat status {};
  EXPECT_EQ(::stat(directory_.c_str(), &status), 0) << directory_;
  return status.st_ino;
}

bool TemporaryCgroup::add(pid_t pid) const {
  const UniqueFd file{::open((directory_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)};
  const std::string text = std::to_string(pid);
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

NewMemory::NewMemory(std::size_t pages) : bytes_(pages * page_size()) {
  void* const start =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(start, MAP_FAILED);
  ::madvise(start, bytes_, MADV_NOHUGEPAGE);
  start_ = static_cast<std::byte*>(start);
}

NewMemory::~NewMemory() { ::munmap(start_, bytes_); }

void NewMemory::touch() {
  for (std::size_t at = 0; at < bytes_; at += page_size()) {
    *static_cast<volatile char*>(static_cast<void*>(start_ + at)) = 1;
  }
}

}  // namespace pex::test
