#include "daemon/run/cgroup_watcher.h"

#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <future>

#include "count/collector.h"
#include "count/descriptor_source.h"
#include "support/events.h"
#include "support/patience.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace {

/// As of fs.inotify.max_user_instances, while others have them all.
std::atomic<bool> inotify_is_refused = false;

}  // namespace

/// Stands before the one of the C library: the limit is one of the whole machine, which a test must
/// not touch.
extern "C" int inotify_init1(int flags) noexcept {
  if (inotify_is_refused) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_inotify_init1, flags));
}

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

class LookoutTest : public testing::Test {
 protected:
  LookoutTest() {
    tree_.write("sys/devices/system/cpu/online", "0\n");
    tree_.make_directory("cgroup");
  }
  ~LookoutTest() override { inotify_is_refused = false; }
  LookoutTest(const LookoutTest&) = delete;
  LookoutTest& operator=(const LookoutTest&) = delete;

  std::unique_ptr<collect::Collector> collector() {
    auto plan = std::make_shared<collect::CountingPlan>();
    plan->cgroup = test::scope_plan({{"software", {"context-switches"}}});
    cgroup::Selection all;
    all.include.push_back(*cgroup::Pattern::parse("/*"));
    collect::TargetTracker tracker{{tree_.path("sys"), {}, {}},
                                   plan,
                                   {cgroup::Discovery({tree_.path("cgroup")}, std::move(all))},
                                   {},
                                   collect::descriptor_cost};
    return *collect::Collector::create(collect::descriptor_sources(kernel_), std::move(tracker),
                                       {});
  }
  static void poll(collect::Collector& collector) {
    std::promise<void> polled;
    ASSERT_TRUE(collector.poll([&](auto, auto) { polled.set_value(); }));
    polled.get_future().wait();
  }
  void make_cgroup(const std::string& name) { tree_.write("cgroup/" + name + "/cgroup.procs", ""); }

  /// Runs the loop, on which nobody polls, until so many groups are open.
  bool opens(const collect::Collector& collector, std::size_t groups) {
    return test::comes_true([&] {
      loop_.run_for(10ms);
      return !collector.is_busy() && kernel_.still_open() == groups;
    });
  }

  static constexpr auto kInterval = 1s;  // so often that inotify alone makes it look in between
  static constexpr std::size_t kOfTheCpu = 1;  // that tells of it

  test::TempTree tree_;
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  boost::asio::io_context loop_;
  CgroupWatcher lookout_{loop_};
};

TEST_F(LookoutTest, WhatComesBetweenTwoPollsIsOpenedAtOnce) {
  const auto collector = this->collector();
  poll(*collector);
  lookout_.watch(*collector, kInterval);

  make_cgroup("a");

  EXPECT_TRUE(opens(*collector, kOfTheCpu + 1));
  lookout_.stop();
}

TEST_F(LookoutTest, FollowsAnInotifyInstanceThatTheKernelGivesOnlyLater) {
  inotify_is_refused = true;
  const auto collector = this->collector();
  poll(*collector);
  ASSERT_LT(collector->descriptor(), 0);
  lookout_.watch(*collector, kInterval);

  inotify_is_refused = false;
  poll(*collector);
  make_cgroup("a");

  EXPECT_TRUE(opens(*collector, kOfTheCpu + 1));
  lookout_.stop();
}

}  // namespace
}  // namespace pex::daemon
