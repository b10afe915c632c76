#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "abi/record/record.h"
#include "abi/record/sample_layout.h"
#include "abi/sampling.h"
#include "base/unique_fd.h"
#include "perf/linux_perf_kernel.h"
#include "perf/ring_buffer.h"

namespace pex::test {

/// On one CPU throughout, with the real kernel; skipped where perf_event_open is not allowed.
/// Software events need no PMU.
class RealEventsTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  perf::EventTarget this_thread() const { return {.pid = 0, .cpu = cpu_}; }
  perf::EventTarget this_cpu() const { return {.pid = -1, .cpu = cpu_}; }
  perf::EventTarget process(pid_t pid) const { return {.pid = pid, .cpu = cpu_}; }

  perf::LinuxPerfKernel kernel_;
  int cpu_ = 0;

 private:
  std::vector<std::size_t> allowed_;  ///< CPUs, before the test
};

/// Whether an attempt tells anything; if not, what disturbed it.
using Disturbance = std::optional<std::string>;

/// Repeats `attempt` until nothing disturbs it, and prints what did. False: each one was disturbed.
bool undisturbed(const std::function<Disturbance()>& attempt, int attempts = 20);

/// Of `config` (PERF_COUNT_SW_*), enabled, in user and kernel mode.
perf::SamplingRequest software_request(std::uint64_t config);

/// Now, in nanoseconds.
std::uint64_t time_of(clockid_t clock);

/// By read(2): the first word.
std::uint64_t count_of(const perf::OpenCounter& event);

/// An open event with its ring, and all records that were in it.
class RecordedEvent {
 public:
  /// A test that cannot go on without it fails, and gets an event that has no records.
  RecordedEvent(perf::PerfKernel& kernel, const perf::SamplingRequest& request,
                const perf::EventTarget& target, std::size_t ring_bytes = 256 * 1024);

  /// Those of one kind, decoded: views of this object's memory.
  template <typename Kind>
  std::vector<Kind> all() {
    drain();
    std::vector<Kind> found;
    for (const std::vector<std::byte>& bytes : records_) {
      const auto record = perf::decode_record(*layout_, bytes);
      EXPECT_TRUE(record) << describe(record.error());
      if (record && std::holds_alternative<Kind>(*record)) found.push_back(std::get<Kind>(*record));
    }
    return found;
  }

  /// Enabled while `work` runs, and only then: what the test does besides is not recorded.
  void during(const std::function<void()>& work);
  perf::RingReport drain();
  perf::RingBuffer& ring() { return *ring_; }
  const perf::SampleLayout& layout() const { return *layout_; }
  int fd() const { return event_.fd.get(); }
  std::uint64_t id() const { return event_.id; }
  std::uint64_t count() const { return count_of(event_); }
  explicit operator bool() const { return ring_.has_value(); }

 private:
  perf::PerfKernel& kernel_;
  perf::OpenCounter event_;
  std::optional<perf::SampleLayout> layout_;
  std::optional<perf::RingBuffer> ring_;
  std::vector<std::vector<std::byte>> records_;
};

/// A child process that waits until it is let go, then does `work` and ends; killed with this.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<void()>& work);
  ~WaitingChild();
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

  pid_t pid() const { return pid_; }
  void run();  ///< lets it go, and waits for its end

 private:
  pid_t pid_ = -1;
  UniqueFd go_;
};

/// A new cgroup below the root of a hierarchy, which is removed with this; the processes in it have
/// ended by then.
class TemporaryCgroup {
 public:
  /// `mount`: of the hierarchy. `suffix`: for several in one test.
  explicit TemporaryCgroup(const std::string& mount, const std::string& suffix = {});
  ~TemporaryCgroup();
  TemporaryCgroup(const TemporaryCgroup&) = delete;
  TemporaryCgroup& operator=(const TemporaryCgroup&) = delete;

  explicit operator bool() const { return is_made_; }
  const std::string& name() const { return name_; }  ///< "/perf_event_exporter_test.123"
  const std::string& directory() const { return directory_; }
  std::uint64_t id() const;
  bool add(pid_t pid) const;  ///< moves a process into it

 private:
  std::string name_;
  std::string directory_;
  bool is_made_ = false;
};

/// Fresh memory of so many pages, none of which has been touched; huge pages are not used.
class NewMemory {
 public:
  explicit NewMemory(std::size_t pages);
  ~NewMemory();
  NewMemory(const NewMemory&) = delete;
  NewMemory& operator=(const NewMemory&) = delete;

  void touch();  ///< a page fault in user mode for each page
  std::byte* data() const { return start_; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_;
};

}  // namespace pex::test
