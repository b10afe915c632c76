// The kernel fails at any call of a poll, once or for a while, with any errno: as it does while it
// is short of something, or while a sysctl or a security module (LSM) takes a right away and gives
// it back.

#include <linux/perf_event.h>

#include <cerrno>

#include "count/descriptor_source.h"
#include "count/poll_cycle.h"
#include "support/cgroups.h"
#include "support/counted_cycle.h"
#include "support/events.h"
#include "support/forwarding_kernel.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::collect::kernel_faults {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kCodes[] = {EMFILE, ENFILE, ENOMEM, EINTR,  EBUSY, ENOSPC,
                          ESRCH,  ENODEV, EPERM,  EACCES, EIO};

enum class Call { kOpen, kEnable, kDisable, kRead };

/// The event of the CPU that shows whether it was offline: nothing is published of it.
bool is_own(const perf::EventAttributes& event) {
  return event.type == PERF_TYPE_SOFTWARE && event.config == PERF_COUNT_SW_DUMMY;
}

/// A scripted kernel that fails where it is told to.
class FailingKernel final : public test::ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;

  struct Step {
    std::size_t number = 0;  ///< of the call, from 1 on
    Call call = Call::kOpen;
    bool is_own = false;  ///< of the event that shows whether the CPU was offline
    bool in_cgroup = false;
  };
  /// errno, or 0 for an answer.
  std::function<int(const Step&)> fails = [](const Step&) { return 0; };

  void restart_calls() { calls_ = 0; }
  std::size_t calls() const { return calls_; }

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    const bool own = collect::kernel_faults::is_own(request.event);
    const bool in_cgroup = request.cgroup_fd >= 0;
    if (const int code = next(Call::kOpen, own, in_cgroup)) return Error{code, {}, {}};
    Result<perf::OpenCounter> counter = ForwardingKernel::open(request);
    if (counter) about_[counter->fd.get()] = {own, in_cgroup};
    return counter;
  }
  Result<> enable_group(int leader_fd) override {
    if (const int code = next(Call::kEnable, leader_fd)) return Error{code, {}, {}};
    return ForwardingKernel::enable_group(leader_fd);
  }
  Result<> disable_group(int leader_fd) override {
    if (const int code = next(Call::kDisable, leader_fd)) return Error{code, {}, {}};
    return ForwardingKernel::disable_group(leader_fd);
  }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    if (const int code = next(Call::kRead, leader_fd)) return Error{code, {}, {}};
    return ForwardingKernel::read_group(leader_fd, words);
  }

 private:
  int next(Call call, int fd) {
    const auto [own, in_cgroup] = about_.at(fd);
    return next(call, own, in_cgroup);
  }
  int next(Call call, bool own, bool in_cgroup) { return fails({++calls_, call, own, in_cgroup}); }

  std::size_t calls_ = 0;
  std::map<int, std::pair<bool, bool>> about_;  ///< by descriptor
};

/// A CPU with one group of hardware events, and one group in each of two cgroups. What they count
/// is told by hand, as totals since the beginning: a group that has to be opened again would count
/// from 0 in a real kernel.
class FailingCpu {
 public:
  FailingCpu() {
    plan_->cpu = test::scope_plan({{"core", {"cycles", "instructions"}}});
    plan_->cpu.groups[0].shares_pmu = true;
    plan_->cgroup = test::scope_plan({{"hardware", {"branches"}}, {"software", {"page-faults"}}});
    plan_->cgroup.groups[0].shares_pmu = true;
    for (const char* const path : {"/a", "/b"}) add_target(path);
    cycle_.emplace(std::make_unique<DescriptorSource>(kernel, 0), plan_, 0);
  }

  void add_target(const std::string& path) {
    cgroups_.push_back({cgroups_.size() + 1, path, test::make_cgroup(tree_, path)});
  }

  /// So much was counted by each event, in one second.
  void count(std::uint64_t events) {
    scripted.pass(1s);
    counted_ += events;
    time_ += 1s;
    for (const std::string& group : groups()) {
      scripted.answer(
          group,
          {test::ScriptedKernel::Answer::Kind::kCounts, time_, time_, {counted_, counted_}, 0});
    }
  }

  PollReport poll() {
    PollCycle::Outcome outcome = cycle_->run(test::targets_of(cgroups_), EventModels{*plan_});
    note_falls();
    for (const auto& [cause, failure] : outcome.report.failures) {
      failures.push_back(describe(failure.first));
    }
    return std::move(outcome.report);
  }
  void set_paused(bool paused) { cycle_->set_paused(paused); }
  void end() { cycle_.reset(); }

  std::vector<std::string> groups() const {
    std::vector<std::string> names = {"cpu0 cycles"};
    for (const CgroupTarget& target : cgroups_) {
      names.push_back("cpu0 " + target.path + " branches");
      names.push_back("cpu0 " + target.path + " page-faults");
    }
    return names;
  }
  /// All that is published.
  std::vector<std::uint64_t> totals() {
    std::vector<std::uint64_t> values = {cycle_->cpu_groups()[0].totals()[0].value,
                                         cycle_->cpu_groups()[0].totals()[1].value};
    for (std::size_t target = 0; target < cgroups_.size(); ++target) {
      for (std::size_t group = 0; group < plan_->cgroup.groups.size(); ++group) {
        values.push_back(cycle_->cgroup_groups(target)[group].totals()[0].value);
      }
    }
    return values;
  }
  nanoseconds unmeasured() { return cycle_->cpu_groups()[0].totals().times().unmeasured; }
  /// Each group of a cgroup, and that of the CPU, but for the event that shows that it is online.
  bool all_open() {
    std::set<std::string> open;
    for (const std::string& group : scripted.open_groups()) open.insert(group);
    for (const std::string& group : groups()) {
      if (!open.contains(group)) return false;
    }
    return true;
  }
  bool all_run() {
    for (const std::string& group : groups()) {
      if (!scripted.runs(group)) return false;
    }
    return true;
  }

  test::TempTree tree_;
  test::ScriptedKernel scripted{tree_.root()};
  FailingKernel kernel{scripted};
  std::vector<std::string> falls;
  std::vector<std::string> failures;  ///< as they are logged

 private:
  void note_falls() {
    const std::vector<std::uint64_t> now = totals();
    for (std::size_t i = 0; i < highest_.size(); ++i) {
      if (now[i] < highest_[i]) {
        falls.push_back(std::to_string(i) + ": " + std::to_string(highest_[i]) + " -> " +
                        std::to_string(now[i]));
      }
    }
    highest_ = now;
  }

  std::shared_ptr<CountingPlan> plan_ = std::make_shared<CountingPlan>();
  std::vector<CgroupTarget> cgroups_;
  std::optional<test::CountedCycle> cycle_;
  std::vector<std::uint64_t> highest_;
  std::uint64_t counted_ = 0;
  nanoseconds time_{};
};

/// What the poll of a test begins with.
enum class From { kStart, kCounting, kPaused, kResumed };
constexpr From kFrom[] = {From::kStart, From::kCounting, From::kPaused, From::kResumed};

void prepare(FailingCpu& cpu, From from) {
  if (from == From::kStart) return;
  cpu.count(100);
  (void)cpu.poll();
  if (from == From::kResumed) {
    cpu.set_paused(true);
    (void)cpu.poll();
  }
  cpu.set_paused(from == From::kPaused);
  cpu.count(100);
}

/// More than the rest of a group that was refused several times.
constexpr int kPollsToRecover = 20;

/// Nothing was lost for good, and nothing is left.
void expect_recovered(FailingCpu& cpu) {
  cpu.kernel.fails = [](const FailingKernel::Step&) { return 0; };
  cpu.set_paused(false);
  for (int poll = 0; poll < kPollsToRecover; ++poll) {
    cpu.count(0);
    (void)cpu.poll();
  }
  EXPECT_TRUE(cpu.all_open());
  EXPECT_TRUE(cpu.all_run());
  cpu.count(1);  // what a group counts from now on is told by the difference of two answers
  (void)cpu.poll();
  const std::vector<std::uint64_t> before = cpu.totals();
  cpu.count(1000);
  EXPECT_THAT(cpu.poll().failures, IsEmpty());
  const std::vector<std::uint64_t> after = cpu.totals();
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i] - before[i], 1000U) << i;
  EXPECT_THAT(cpu.falls, IsEmpty());
  cpu.end();
  EXPECT_EQ(cpu.scripted.still_open(), 0U);
}

std::size_t steps_of_a_poll(From from) {
  FailingCpu cpu;
  prepare(cpu, from);
  cpu.kernel.restart_calls();
  (void)cpu.poll();
  return cpu.kernel.calls();
}

TEST(KernelFaultsTest, AnyCallOfAPollCanFailOnceWithAnyErrno) {
  for (const From from : kFrom) {
    const std::size_t steps = steps_of_a_poll(from);
    ASSERT_GT(steps, 5U);
    for (std::size_t step = 1; step <= steps; ++step) {
      for (const int code : kCodes) {
        SCOPED_TRACE("from " + std::to_string(static_cast<int>(from)) + ", step " +
                     std::to_string(step) + ": " + errno_name(code));
        FailingCpu cpu;
        prepare(cpu, from);
        cpu.failures.clear();
        cpu.kernel.restart_calls();
        std::optional<FailingKernel::Step> failed;
        cpu.kernel.fails = [&](const FailingKernel::Step& now) {
          if (now.number != step) return 0;
          failed = now;
          return code;
        };

        (void)cpu.poll();

        ASSERT_TRUE(failed);
        // A CPU that has gone is no failure. Of a group that is only looked at right after it was
        // opened, the next reading shows what is to be shown.
        const bool is_shown = !failed->is_own && (code != ENODEV || failed->call == Call::kRead) &&
                              !(from == From::kStart && failed->call == Call::kRead);
        if (is_shown) {
          EXPECT_THAT(cpu.failures, Contains(HasSubstr("(" + errno_name(code) + ")")));
        } else if (failed->is_own) {
          EXPECT_THAT(cpu.failures, IsEmpty());
        }
        expect_recovered(cpu);
      }
    }
  }
}

TEST(KernelFaultsTest, WhatIsOpenGoesOnWhileNothingMoreCanBeOpened) {
  for (const int code : kCodes) {
    if (code == ENODEV) continue;  // the CPU has gone
    SCOPED_TRACE(errno_name(code));
    FailingCpu cpu;
    prepare(cpu, From::kCounting);
    (void)cpu.poll();
    cpu.kernel.fails = [code](const FailingKernel::Step& step) {
      return step.call == Call::kOpen ? code : 0;
    };
    cpu.add_target("/later");
    for (int poll = 0; poll < 5; ++poll) {
      cpu.count(100);
      (void)cpu.poll();
    }

    EXPECT_THAT(cpu.totals(), testing::ElementsAre(700, 700, 700, 700, 700, 700, 0, 0));
    ASSERT_THAT(cpu.failures, Contains(HasSubstr("for cgroup '/later' on CPU 0")));
    EXPECT_THAT(cpu.failures[0], HasSubstr("(" + errno_name(code) + ")"));
    if (code != ESRCH && code != EIO) {  // which the kernel does not return for a CPU or a cgroup
      EXPECT_THAT(cpu.failures[0], HasSubstr("Remedy: "));
    }
    expect_recovered(cpu);
  }
}

TEST(KernelFaultsTest, WhatIsOpenStaysOpenWhileNothingCanBeReadAndNothingIsLost) {
  for (const int code : kCodes) {
    SCOPED_TRACE(errno_name(code));
    FailingCpu cpu;
    prepare(cpu, From::kCounting);
    (void)cpu.poll();
    const std::size_t opened = cpu.scripted.opened();
    cpu.kernel.fails = [code](const FailingKernel::Step& step) {
      return step.call == Call::kRead ? code : 0;
    };
    for (int poll = 0; poll < 5; ++poll) {
      cpu.count(100);
      EXPECT_EQ(cpu.poll().errors.at("core").read_failures, 1U);
      for (const auto& failure : cpu.failures) {
        EXPECT_THAT(failure, HasSubstr("read group '"));
        EXPECT_THAT(failure, HasSubstr("(" + errno_name(code) + ")"));
      }
    }
    EXPECT_EQ(cpu.scripted.opened(), opened);

    cpu.kernel.fails = [](const FailingKernel::Step&) { return 0; };
    cpu.count(100);
    (void)cpu.poll();

    EXPECT_THAT(cpu.totals(), testing::Each(800U));
    EXPECT_EQ(cpu.unmeasured(), 0ns);
    expect_recovered(cpu);
  }
}

TEST(KernelFaultsTest, AGroupThatCannotBeEnabledAfterAPauseIsReportedAndTriedAgain) {
  FailingCpu cpu;
  prepare(cpu, From::kResumed);
  cpu.failures.clear();
  cpu.kernel.fails = [](const FailingKernel::Step& step) {
    return step.call == Call::kEnable ? EACCES : 0;
  };

  (void)cpu.poll();

  EXPECT_THAT(cpu.failures, Contains(HasSubstr("enable group 'hardware'")));
  EXPECT_FALSE(cpu.scripted.runs("cpu0 /a branches"));
  cpu.kernel.fails = [](const FailingKernel::Step&) { return 0; };
  (void)cpu.poll();
  EXPECT_TRUE(cpu.all_run());
}

}  // namespace
}  // namespace pex::collect::kernel_faults
