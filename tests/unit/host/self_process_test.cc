#include "host/self_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <future>

#include "base/boot_clock.h"
#include "base/unique_fd.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

TEST(OwnProcessTest, HasPlausibleNumbers) {
  const Result<SelfProcess> own = SelfProcessReader().read();

  ASSERT_TRUE(own) << describe(own.error());
  EXPECT_GT(own->cpu_seconds, 0.0);
  EXPECT_LT(own->cpu_seconds, 3600.0);
  EXPECT_LE(own->started, BootClock::now());
  EXPECT_GT(own->started, BootClock::now() - std::chrono::hours{1});
  EXPECT_GE(own->max_fds, *list_open_fds());
  EXPECT_GT(own->resident_bytes, 100u * 1024);
}

TEST(OwnProcessTest, CountsOneDescriptorMoreWhenOneIsOpened) {
  const std::optional<std::uint64_t> before = list_open_fds();

  const UniqueFd opened{::open("/dev/null", O_RDONLY | O_CLOEXEC)};

  ASSERT_TRUE(before);
  EXPECT_EQ(list_open_fds(), *before + 1);
}

TEST(OwnProcessTest, HasAsManyDescriptorsAsTheKernelReportsIfItDoes) {
  const std::optional<std::uint64_t> told = reported_open_fds();
  if (!told) GTEST_SKIP() << "this kernel does not tell: it is older than 6.2";

  EXPECT_EQ(told, list_open_fds());
  SelfProcessReader reader;
  EXPECT_EQ(reader.read()->open_fds, *told + 1) << "with the one that the reader holds";
  EXPECT_EQ(reader.read()->open_fds, list_open_fds());
}

TEST(OwnProcessTest, IsReadAgainEachTime) {
  constexpr std::size_t kBytes = 64 << 20;
  SelfProcessReader reader;
  const Result<SelfProcess> before = reader.read();

  const std::vector<char> touched(kBytes, 1);
  const Result<SelfProcess> after = reader.read();

  ASSERT_TRUE(before && after);
  EXPECT_GE(after->resident_bytes, before->resident_bytes + touched.size() / 2);
}

TEST(OwnProcessTest, SpendsCpuTimeAndNeverGetsItBack) {
  const Result<SelfProcess> before = SelfProcessReader().read();

  const Result<SelfProcess> after = SelfProcessReader().read();

  ASSERT_TRUE(before && after);
  EXPECT_GT(after->cpu_seconds, before->cpu_seconds);
  EXPECT_EQ(after->started, before->started);
}

TEST(OwnProcessTest, IsUnderstoodWhateverTheNameOfTheProgram) {
  char name[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, name), 0);
  const Result<SelfProcess> before = SelfProcessReader().read();

  ASSERT_EQ(::prctl(PR_SET_NAME, ") R 1 (x"), 0);
  const Result<SelfProcess> after = SelfProcessReader().read();
  ASSERT_EQ(::prctl(PR_SET_NAME, name), 0);

  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->started, before->started);
  EXPECT_EQ(after->max_fds, before->max_fds);
}

TEST(MoveThreadOffTest, LeavesAThreadThatWasBoundToACpuAllOthers) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this test may use one CPU only";
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  std::promise<void> bound;
  std::promise<void> moved;
  std::thread thread{[&] {
    EXPECT_TRUE(bind_thread_to(cpu));
    bound.set_value();
    moved.get_future().wait();
    EXPECT_NE(::sched_getcpu(), cpu);
  }};
  bound.get_future().wait();

  EXPECT_TRUE(move_thread_off(thread.native_handle(), cpu));

  cpu_set_t left;
  EXPECT_EQ(::pthread_getaffinity_np(thread.native_handle(), sizeof left, &left), 0);
  moved.set_value();
  thread.join();
  EXPECT_FALSE(CPU_ISSET(cpu, &left));
  EXPECT_EQ(CPU_COUNT(&left), CPU_COUNT(&all) - 1);
}

TEST(RaiseOpenFileLimitTest, RaisesTheSoftLimitToTheHardOne) {
  rlimit original{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &original), 0);
  const rlimit low{64, original.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

  const std::uint64_t in_force = raise_open_file_limit();
  const Result<SelfProcess> own = SelfProcessReader().read();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &original), 0);

  EXPECT_EQ(in_force, original.rlim_max);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->max_fds, original.rlim_max);
}

TEST(PerfCgroupTest, IsThatOfTheControllerOfVersion1AndElseOfVersion2) {
  struct Row {
    const char* text;
    std::optional<std::string> path;
  };
  const Row rows[] = {
      {"5:cpu,cpuacct:/a\n4:net_cls,perf_event:/b\n1:name=systemd:/c\n0::/d\n", "/b"},
      {"5:cpu,cpuacct:/a\n1:name=perf_event:/c\n0::/d\n", "/d"},
      {"0::/a:b/c:d\n", "/a:b/c:d"},
      {"", {}},
      {"\n", {}},
      {"0", {}},
      {"0:", {}},
      {"0::", {}},
      {"0::\n", {}},
      {"3:cpu:/a\n", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(perf_cgroup_of(row.text), row.path) << row.text;
}

TEST(PerfCgroupTest, OfThisProcessIsAPath) {
  const std::optional<std::string> own = self_perf_cgroup();

  if (!own) GTEST_SKIP() << "this kernel has no cgroups, or none with the perf_event controller";
  EXPECT_TRUE(own->starts_with('/')) << *own;
}

TEST(BindThreadTest, LeavesTheThreadOnThatCpu) {
  const int cpu = ::sched_getcpu();
  int ran_on = -1;
  bool is_bound = false;

  std::thread{[&] {
    is_bound = bind_thread_to(cpu);
    ran_on = ::sched_getcpu();
  }}.join();

  EXPECT_TRUE(is_bound);
  EXPECT_EQ(ran_on, cpu);
}

TEST(BindThreadTest, FailsForACpuThatIsNotThere) { EXPECT_FALSE(bind_thread_to(100'000)); }

TEST(ThreadRemedyTest, IsMemoryWhereThatIsLimited) {
  rlimit before{};
  ::getrlimit(RLIMIT_DATA, &before);
  const rlimit limit{rlim_t{1} << 60, before.rlim_max};
  ::setrlimit(RLIMIT_DATA, &limit);
  const std::string remedy = thread_remedy().text();
  ::setrlimit(RLIMIT_DATA, &before);

  EXPECT_NE(remedy.find("LimitDATA="), std::string::npos) << remedy;
}

}  // namespace
}  // namespace pex::host
