#include "daemon/run/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/run/app.h"
#include "http/fetch.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "unit/exposition/snapshots.h"

namespace pex::daemon {
namespace {

using collect::Snapshot;

/// One group on two CPUs, of which `counted_on` are counted.
Snapshot snapshot_of_cpus(std::size_t counted_on) {
  Snapshot snapshot =
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0, 1}, {1, 2});
  for (collect::GroupRow& row : snapshot.cpu[0].rows) {
    row.wanted_on = 1;
    row.counted_on = counted_on > 0 ? 1 : 0;
    if (counted_on > 0) --counted_on;
  }
  return snapshot;
}

TEST(ReadinessTest, ComesWithTheFirstPoll) {
  const Snapshot idle = snapshot_of_cpus(0);

  EXPECT_EQ(why_not_ready(nullptr, false), "the first poll is not complete");
  EXPECT_EQ(why_not_ready(nullptr, true), "the first poll is not complete");
  EXPECT_EQ(why_not_ready(&idle, false), "");
}

TEST(ReadinessTest, TakesOneCountedEventWhereEventsAreNeeded) {
  const Snapshot none = snapshot_of_cpus(0);
  const Snapshot one = snapshot_of_cpus(1);

  EXPECT_EQ(why_not_ready(&none, true), "no configured event is counted anywhere");
  EXPECT_EQ(why_not_ready(&one, true), "");
}

TEST(ReadinessTest, DoesNotTakeAuxiliaryGroupsForEvents) {
  Snapshot snapshot = snapshot_of_cpus(2);
  collect::CountingPlan plan = *snapshot.plan;
  plan.cpu.groups[0].is_published = false;
  snapshot.plan = std::make_shared<const collect::CountingPlan>(plan);

  EXPECT_EQ(why_not_ready(&snapshot, true), "this machine can count none of the configured events");
}

TEST(ReadinessTest, NeedsNoCgroupWhereThereIsNone) {
  const Snapshot snapshot = exposition::cgroup_snapshot(test::scope_plan({{"core", {"cycles"}}}),
                                                        exposition::targets({}), {});

  EXPECT_EQ(why_not_ready(&snapshot, true), "");
}

/// A program that was polled once with a kernel that refuses cycles, and serves.
class ReadinessOverHttpTest : public testing::Test {
 protected:
  /// The status and the body of /-/ready.
  std::pair<unsigned, std::string> ask(const std::string& events, bool needs_events) {
    tree_.write("config.yaml", "groups: [{name: core, events: [" + events + "], scope: cpu}]\n");
    test::ScriptedKernel kernel;
    kernel.refuse("cycles", ENOENT);
    Options options;
    options.config_file = tree_.path("config.yaml");
    options.listen_addresses = {"127.0.0.1:0"};
    options.ready_needs_events = needs_events;
    options.roots = {tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
    Log log{LogLevel::kError, LogFormat::kLogfmt};
    boost::asio::io_context loop{1};
    App app{loop, options, kernel, log};
    EXPECT_TRUE(app.start());
    EXPECT_TRUE(app.listen());
    auto work = boost::asio::make_work_guard(loop);
    std::thread thread{[&] { loop.run(); }};
    std::promise<void> published;
    boost::asio::post(loop, [&] { EXPECT_TRUE(app.poll([&] { published.set_value(); })); });
    published.get_future().wait();
    const Result<http::Fetched> answer =
        http::fetch({"127.0.0.1:" + std::to_string(app.ports().front()), false}, "/-/ready",
                    std::chrono::seconds{30});
    boost::asio::post(loop, [&] {
      app.stop();
      work.reset();
    });
    thread.join();
    return answer ? std::pair{answer->status, answer->body}
                  : std::pair{0U, describe(answer.error())};
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"}};
};

TEST_F(ReadinessOverHttpTest, IsRefusedWithItsReasonWhileNothingIsCounted) {
  EXPECT_EQ(ask("cycles", true),
            std::pair(503U, std::string("not ready: this machine can count none of the configured "
                                        "events\n")));
}

TEST_F(ReadinessOverHttpTest, IsThereWithOneEvent) {
  EXPECT_EQ(ask("cycles, page-faults", true), std::pair(200U, std::string("ready\n")));
}

TEST_F(ReadinessOverHttpTest, NeedsNoEventUnlessAsked) {
  EXPECT_EQ(ask("cycles", false), std::pair(200U, std::string("ready\n")));
}

}  // namespace
}  // namespace pex::daemon
