#include "perf/truth_check.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <random>

#include "perf/known_work.h"
#include "perf/linux_perf_kernel.h"
#include "support/counting_kernel.h"
#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::perf::truth_check_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::Ge;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// In the order of PERF_COUNT_HW_*, and then those of the kernel.
enum Event {
  kCycles,
  kInstructions,
  kReferences,
  kCacheMisses,
  kBranches,
  kBranchMisses,
  kTaskClock,
  kPageFaults,
  kMinorFaults,
  kSwitches,
  kMigrations,
  kEvents
};
using Counts = std::array<std::uint64_t, kEvents>;

constexpr bool is_software(std::size_t event) { return event >= kTaskClock; }

const std::vector<CounterSpec> kAll = {
    {"cycles", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES}},
    {"instructions", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}},
    {"cache-references", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES}},
    {"cache-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}},
    {"branches", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
    {"branch-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
    {"task-clock", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}},
    {"page-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}},
    {"minor-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN}},
    {"context-switches", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}},
    {"cpu-migrations", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS}},
};

/// A counter that is open, and what a broken PMU may need to know.
struct Counter {
  std::size_t event = 0;
  int cpu = 0;
  bool of_task = false;
  std::uint64_t opened_at = 0;  ///< the true count then
  nanoseconds opened{};
};

/// A machine whose true counts are known, with a PMU that may tell others.
class Machine : public test::CountingKernel {
 public:
  /// What the PMU tells of an event that has truly counted so much since it was opened.
  using Pmu = std::function<std::uint64_t(Machine&, const Counter&, std::uint64_t)>;

  explicit Machine(unsigned seed = 1, double noise = 0) : random_(seed), noise_(noise) {}

  Result<OpenCounter> open(const CounterRequest& request) override {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    Counter counter;
    while (kAll[counter.event].attributes.type != request.event.type ||
           kAll[counter.event].attributes.config != request.event.config) {
      ++counter.event;
    }
    counter.cpu = request.cpu;
    counter.of_task = request.pid == 0;
    counter.opened_at = true_count(counter);
    counter.opened = now_;
    if (request.leader_fd < 0) {
      groups_[fd] = {};
      shares_[fd] = chance(noise_ / 4) ? 3 : 1;
    }
    groups_[request.leader_fd < 0 ? fd : request.leader_fd].push_back(counter);
    return OpenCounter{UniqueFd{fd}, ids_[fd] = ++last_id_};
  }
  Result<> enable_group(int) override { return {}; }
  Result<> disable_group(int) override { return {}; }

  Result<std::size_t> read_group(int leader, std::span<std::uint64_t> words) override {
    const std::vector<Counter>& group = groups_.at(leader);
    now_ += chance(noise_) ? 50us : 1us;
    const nanoseconds enabled = group.front().of_task ? task_time_ : now_ - group.front().opened;
    std::size_t filled = 0;
    words[filled++] = group.size();
    words[filled++] = static_cast<std::uint64_t>(enabled.count());
    words[filled++] = static_cast<std::uint64_t>(enabled.count() / shares_[leader]);
    if (shares_[leader] > 1 && chance(0.3)) shares_[leader] = 1;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Counter& counter = group[i];
      const std::uint64_t truth = true_count(counter) - counter.opened_at;
      words[filled++] = pmu && !is_software(counter.event) ? pmu(*this, counter, truth) : truth;
      words[filled++] = last_id_ - group.size() + 1 + i;  // of the group that was opened last
    }
    return filled;
  }

  std::optional<WorkDone> work(const KnownWork& work) override {
    WorkDone done;
    Counts own{};
    own[kInstructions] = 4 * work.iterations;
    own[kBranches] = work.iterations;
    own[kCycles] = work.iterations + work.iterations / 5 + between(0, 2000);
    own[kReferences] = between(0, 900);
    own[kCacheMisses] = between(0, own[kReferences]);
    own[kBranchMisses] = between(0, 200);
    own[kPageFaults] = own[kMinorFaults] = work.pages + (chance(noise_) ? between(1, 5) : 0);
    own[kSwitches] = work.sleeps;
    const bool moves = work.other_cpu >= 0;
    own[kMigrations] = moves ? 1 : 0;
    own[kSwitches] += moves ? between(1, 2) : 0;
    if (chance(noise_)) preempt(work.cpu, own);
    done.cpu_time = nanoseconds{own[kCycles] / 3 + between(2000, 4000)};
    own[kTaskClock] = static_cast<std::uint64_t>(done.cpu_time.count());
    if (chance(noise_)) steal(own);
    done.instructions = {4 * work.iterations, 4 * work.iterations};
    done.branches = {work.iterations, work.iterations};
    done.faults = own[kPageFaults];
    done.switches = {own[kSwitches] - (moves ? 1 : 0), own[kSwitches] + 1};
    done.migrations = own[kMigrations];
    now_ += nanoseconds{own[kTaskClock]} + work.sleeps * (work.sleep + 50us);
    slept_ += work.sleeps * work.sleep;
    task_time_ += nanoseconds{own[kTaskClock]};
    done.thread_time = spent_ += done.cpu_time;
    for (std::size_t i = 0; i < kEvents; ++i) {
      task_[i] += own[i];
      on_cpu_[work.cpu][i] += own[i];
    }
    if (work.busy_cpu >= 0) {
      on_cpu_[work.busy_cpu][kInstructions] += 4 * work.iterations;
      on_cpu_[work.busy_cpu][kBranches] += work.iterations;
      on_cpu_[work.busy_cpu][kCycles] += work.iterations;
    }
    return done;
  }
  nanoseconds now() override { return now_; }

  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution{least, most}(random_);
  }
  std::uint64_t true_count(const Counter& counter) {
    if (counter.of_task) return task_[counter.event];
    if (counter.event == kTaskClock) {
      return static_cast<std::uint64_t>(clock_speed * static_cast<double>(now_.count()));
    }
    return on_cpu_[counter.cpu][counter.event];
  }
  std::uint64_t of_all_cpus(std::size_t event) const {
    std::uint64_t sum = 0;
    for (const auto& [cpu, counts] : on_cpu_) sum += counts[event];
    return sum;
  }
  nanoseconds slept() const { return slept_; }

  Pmu pmu;
  double clock_speed = 1;  ///< of CPUs

 private:
  bool chance(double probability) { return std::bernoulli_distribution{probability}(random_); }
  /// Another task has the CPU for a time slice.
  void preempt(int cpu, Counts& own) {
    ++own[kSwitches];
    const std::uint64_t cycles = between(1000, 12'000'000);
    now_ += nanoseconds{cycles / 3};
    for (const Event event : {kCycles, kInstructions, kBranches}) on_cpu_[cpu][event] += cycles;
    on_cpu_[cpu][kSwitches] += between(1, 30);
    on_cpu_[cpu][kPageFaults] += between(0, 300);
    on_cpu_[cpu][kMigrations] += between(0, 3);
  }
  /// The hypervisor runs another machine: of that, the clock of a task sees a part.
  void steal(Counts& own) { own[kTaskClock] += between(0, 5'000'000); }

  std::mt19937_64 random_;
  double noise_;
  nanoseconds now_{};
  nanoseconds task_time_ = 1us;
  nanoseconds spent_{};
  nanoseconds slept_{};
  Counts task_{};
  std::map<int, Counts> on_cpu_;
  std::map<int, std::vector<Counter>> groups_;  ///< by descriptor of the leader
  std::map<int, int> shares_;
  std::map<int, std::uint64_t> ids_;
  std::uint64_t last_id_ = 0;
};

std::vector<Verdict> check(PerfKernel& kernel, const std::vector<CounterSpec>& events,
                           std::vector<int> cpus) {
  CheckedEvents checked{"", std::move(cpus), events, std::vector<Verdict>(events.size())};
  check_truth(kernel, checked);
  return checked.verdicts;
}

std::set<std::string> lies_of(std::span<const Verdict> verdicts) {
  std::set<std::string> lies;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (is_lie(verdicts[i].truth)) {
      lies.insert(kAll[i].name + " " + std::string(name_of(verdicts[i].truth)));
    }
  }
  return lies;
}

std::set<std::string> lies_of(const Machine::Pmu& pmu) {
  Machine machine;
  machine.pmu = pmu;
  return lies_of(check(machine, kAll, {0, 1, 2, 3}));
}

using Lies = std::set<std::string>;

TEST(TruthCheckTest, AccusesNoEventOfMachinesThatAreBusyAndMultiplexed) {
  std::size_t checked = 0, known = 0;
  test::run_rounds(10'000, [&](unsigned number) {
    Machine machine{number, 0.3};
    machine.clock_speed =
        number % 2 == 0 ? 1 : 0.4;  // at 100 000 switches/s between counted cgroups
    const std::vector<Verdict> verdicts = check(machine, kAll, {0, 1});
    EXPECT_EQ(lies_of(verdicts), Lies{});
    for (const Verdict& verdict : verdicts) known += verdict.truth == Truth::kTrue ? 1 : 0;
    checked += verdicts.size();
  });
  EXPECT_GT(known, checked * 9 / 10);
}

TEST(TruthCheckTest, FindsEachKindOfPmuThatLies) {
  using Truthful = std::uint64_t;
  struct Row {
    const char* pmu;
    Machine::Pmu tells;
    testing::Matcher<Lies> lies;
  };
  const Lies stuck = {"cycles stuck", "instructions stuck", "branches stuck"};
  const Lies off_by_factor = {"instructions off_by_factor", "branches off_by_factor"};
  const Row rows[] = {
      {"counts nothing", [](Machine&, const Counter&, Truthful) { return 0; }, Eq(stuck)},
      {"is stuck", [](Machine&, const Counter&, Truthful) { return 395; }, Eq(stuck)},
      {"counts next to nothing",
       [](Machine&, const Counter&, Truthful truth) { return truth / 1000; },
       UnorderedElementsAre("cycles too_small", "instructions too_small", "branches too_small")},
      {"is narrower than the kernel believes",  // set to -2^47, of which 32 bits are stored
       [](Machine&, const Counter&, Truthful truth) { return truth - (std::uint64_t{1} << 47); },
       Contains("instructions jumps")},
      {"counts twice", [](Machine&, const Counter&, Truthful truth) { return 2 * truth; },
       Eq(off_by_factor)},
      {"counts a third", [](Machine&, const Counter&, Truthful truth) { return truth / 3; },
       Eq(off_by_factor)},
      {"swaps cycles and instructions, references and misses, branches and misses",
       [](Machine& machine, const Counter& counter, Truthful) {
         Counter other = counter;
         other.event ^= 1U;
         return machine.true_count(other);
       },
       AllOf(Contains(AnyOf("instructions erratic", "instructions off_by_factor")),
             Contains("branches too_small"))},
      {"counts all CPUs",
       [](Machine& machine, const Counter& counter, Truthful) {
         return machine.of_all_cpus(counter.event);
       },
       UnorderedElementsAre("instructions counts_other_cpus", "branches counts_other_cpus")},
      {"is random",
       [](Machine& machine, const Counter&, Truthful) {
         return machine.between(0, std::uint64_t{1} << 40);
       },
       SizeIs(Ge(2U))},
      {"is dead on half of the CPUs",
       [](Machine&, const Counter& counter, Truthful truth) {
         return counter.cpu % 2 == 1 ? 0 : truth;
       },
       Eq(stuck)},
      {"moves while the task sleeps",
       [](Machine& machine, const Counter&, Truthful truth) {
         return truth + static_cast<std::uint64_t>(machine.slept().count());
       },
       IsSupersetOf({"instructions moves_while_idle", "branches moves_while_idle"})},
      {"jumps",
       [reads = 0U](Machine&, const Counter&, Truthful truth) mutable {
         return truth + (std::uint64_t{++reads} << 48);
       },
       IsSupersetOf({"cycles jumps", "instructions jumps"})},
      {"has more misses than references",
       [](Machine& machine, const Counter& counter, Truthful truth) {
         const bool is_miss = counter.event == kCacheMisses || counter.event == kBranchMisses;
         return truth + (is_miss ? 3 * machine.of_all_cpus(kBranches) : 0);
       },
       UnorderedElementsAre("branch-misses above_references", "cache-misses above_references")},
  };

  for (const Row& row : rows) EXPECT_THAT(lies_of(row.tells), row.lies) << row.pmu;
}

TEST(TruthCheckTest, FindsAClockThatIsSlow) {
  Machine machine;
  machine.clock_speed = 0.1;

  EXPECT_EQ(lies_of(check(machine, kAll, {0, 1})), Lies{"task-clock off_by_factor"});
}

TEST(TruthCheckTest, ChecksOnTheFirstCpuOnWhichItMayRun) {
  class Confined : public Machine {
   public:
    std::optional<WorkDone> work(const KnownWork& work) override {
      return work.cpu == 1 ? Machine::work(work) : std::nullopt;
    }
  } machine;

  for (const Verdict& verdict : check(machine, kAll, {0, 1, 2})) {
    EXPECT_EQ(verdict.truth, Truth::kTrue) << verdict.evidence;
  }
}

TEST(TruthCheckTest, KnowsNothingOfAnEventThatHasNoTurnOnThePmu) {
  class Starving : public Machine {
    Result<std::size_t> read_group(int leader, std::span<std::uint64_t> words) override {
      const Result<std::size_t> filled = Machine::read_group(leader, words);
      words[2] = 0;
      return filled;
    }
  } machine;

  for (const Verdict& verdict : check(machine, kAll, {0, 1})) {
    EXPECT_EQ(verdict.truth, Truth::kUnknown);
  }
}

TEST(TruthCheckTest, TakesLessThanTheTimeThatItMayTake) {
  class Slow : public Machine {
   public:
    std::optional<WorkDone> work(const KnownWork& work) override {
      std::optional<WorkDone> done = Machine::work(work);
      done->thread_time = spent += 1ms;
      return done;
    }
    nanoseconds spent{};
  } machine;
  machine.pmu = [](Machine&, const Counter&, std::uint64_t) { return 0; };
  std::vector<int> cpus(500);
  for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] = static_cast<int>(i);

  (void)check(machine, kAll, cpus);

  EXPECT_LE(machine.spent, kMaxCheckTime + 1ms);
}

/// Threads that compute and fault on all CPUs.
class Load {
 public:
  Load() {
    for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([](const std::stop_token& must_end) {
        while (!must_end.stop_requested()) {
          std::vector<char> memory(1'000'000);
          for (std::size_t at = 0; at < memory.size(); at += 512) memory[at] = 1;
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

class RealTruthCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_.open({{.cpu = 0, .cgroup_path = {}}, {}, software_[1].attributes})) {
      GTEST_SKIP() << "no perf events";
    }
  }

  /// Checks until each is found true; some may be unknown while others have the CPU.
  void expect_all_true() {
    std::set<std::string> found;
    for (int round = 0; round < 100 && found.size() < software_.size(); ++round) {
      const std::vector<Verdict> verdicts = check(kernel_, software_, {0, 1});
      for (std::size_t i = 0; i < software_.size(); ++i) {
        EXPECT_FALSE(is_lie(verdicts[i].truth)) << software_[i].name << verdicts[i].evidence;
        if (verdicts[i].truth == Truth::kTrue) found.insert(software_[i].name);
      }
    }
    EXPECT_EQ(found.size(), software_.size());
  }

  LinuxPerfKernel kernel_;
  const std::vector<CounterSpec> software_{kAll.begin() + kTaskClock, kAll.end()};
};

TEST_F(RealTruthCheckTest, FindsTheEventsOfThisKernelTrue) { expect_all_true(); }

TEST_F(RealTruthCheckTest, FindsThemTrueUnderLoad) {
  const Load load;
  for (int check = 0; check < 10; ++check) expect_all_true();
}

/// Of the calling thread, for good.
bool forbid_getrusage() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(KnownWorkTest, IsNotKnownWhereTheKernelMayNotBeAskedForSwitchesAndFaults) {
  std::optional<WorkDone> allowed, forbidden;
  bool is_forbidden = false;
  std::thread([&] {
    const KnownWork work = {.cpu = ::sched_getcpu(), .pages = 64, .sleeps = 1};
    allowed = do_known_work(work);
    is_forbidden = forbid_getrusage();
    forbidden = do_known_work(work);
  }).join();

  if (!is_forbidden) GTEST_SKIP() << "this kernel has no seccomp filters";
  ASSERT_TRUE(allowed);
  EXPECT_GE(allowed->faults, 64u);
  EXPECT_GE(allowed->switches.least, 1u);
  EXPECT_FALSE(forbidden);
}

}  // namespace
}  // namespace pex::perf::truth_check_test
