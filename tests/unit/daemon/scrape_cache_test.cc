#include "daemon/web/scrape_cache.h"

#include <boost/asio/post.hpp>
#include <future>

#include "exposition/poll_metrics.h"
#include "support/events.h"
#include "support/patience.h"
#include "support/test_headers.h"
#include "unit/exposition/snapshots.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using exposition::Format;
using exposition::RenderOptions;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::shared_ptr<const collect::Snapshot> snapshot_with(std::uint64_t cycles) {
  return std::make_shared<const collect::Snapshot>(
      exposition::cpu_snapshot(test::scope_plan({{"core", {"cycles"}}}), {0}, {cycles}));
}

/// A program around it whose polls end when a test says so.
class ScrapeCacheTest : public testing::Test {
 protected:
  ScrapeCacheTest() {
    self_metrics_.add(poll_metrics_);
    scrapes_.set_max_age(1h);
  }
  ~ScrapeCacheTest() override { worker_.join(); }

  void publish(std::uint64_t cycles) {
    latest_ = {snapshot_with(cycles), ScrapeCache::Clock::now()};
    scrapes_.polled();
  }
  void ask(const RenderOptions& wanted = {}, bool gzip = false) {
    scrapes_.answer(wanted, gzip,
                    [this](http::Response response) { responses_.push_back(std::move(response)); });
  }
  /// Until so many responses are there in all.
  void await(std::size_t responses) {
    (void)test::comes_true([&] {
      loop_.restart();
      loop_.run_for(10ms);
      return responses_.size() >= responses;
    });
    ASSERT_EQ(responses_.size(), responses);
  }
  std::string text(std::size_t response) { return *responses_.at(response).body; }

  exposition::PollMetrics poll_metrics_;
  exposition::SelfMetrics self_metrics_{"1.0"};
  boost::asio::io_context loop_;
  boost::asio::thread_pool worker_{1};
  ScrapeCache::Latest latest_;
  int readings_ = 0;
  int polls_ = 0;
  ScrapeCache scrapes_{loop_,
                       worker_,
                       {.latest = [this] { return latest_; },
                        .read_self =
                            [this] {
                              ++readings_;
                              return self_metrics_.read();
                            },
                        .poll = [this] { ++polls_; }}};
  std::vector<http::Response> responses_;
};

TEST_F(ScrapeCacheTest, RenderOnceForAllThatAskForTheSame) {
  publish(7);

  for (int i = 0; i < 3; ++i) ask();
  await(3);
  ask();
  await(4);

  EXPECT_EQ(readings_, 1);
  for (const http::Response& response : responses_) EXPECT_EQ(response.body, responses_[0].body);
  EXPECT_THAT(text(0), HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 7\n"));
}

TEST_F(ScrapeCacheTest, RenderEachFormatSelectionAndEncodingOnItsOwn) {
  publish(7);
  const exposition::Selection none{exposition::Selection::Rule::kOnly, {"exporter"}};

  ask();
  ask({Format::kOpenMetrics, {}, false});
  ask({Format::kText, none, false});
  ask({}, true);
  await(4);

  EXPECT_EQ(responses_[0].content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(text(1), testing::Not(HasSubstr("perf_cpu_")));  // between two whole ones
  EXPECT_EQ(responses_[2].content_type,
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_THAT(text(2), StartsWith("# TYPE perf_cpu_cycles counter\n"));
  EXPECT_THAT(text(3), StartsWith("\x1f\x8b"));
  EXPECT_THAT(responses_[3].headers, testing::Contains(testing::Pair("Content-Encoding", "gzip")));
  EXPECT_THAT(responses_[0].headers,
              testing::Not(testing::Contains(testing::Pair("Content-Encoding", testing::_))));
}

TEST_F(ScrapeCacheTest, RenderASmallScrapeAtOnceAndOneForEachPollAtMost) {
  publish(7);
  ask();
  await(1);  // from now on it is known that they are small

  publish(8);
  ask();
  ask({Format::kOpenMetrics, {}, false});

  ASSERT_EQ(responses_.size(), 2U);
  EXPECT_THAT(text(1), HasSubstr("} 8\n"));
  await(3);
  publish(9);
  ask({}, true);
  EXPECT_EQ(responses_.size(), 4U);
}

TEST_F(ScrapeCacheTest, FollowANewSnapshotAndLeaveTheTextOfTheOldOneToWhoHasIt) {
  publish(7);
  ask();
  await(1);

  publish(8);
  ask();
  await(2);

  EXPECT_THAT(text(1), HasSubstr("} 8\n"));
  EXPECT_THAT(text(0), HasSubstr("} 7\n"));
}

TEST_F(ScrapeCacheTest, UseTheMemoryOfATextAgainOnceItIsUnused) {
  std::vector<const std::string*> texts;

  for (std::uint64_t poll = 0; poll < 6; ++poll) {
    publish(poll);
    ask();
    await(1);
    texts.push_back(responses_[0].body.get());
    responses_.clear();
  }

  EXPECT_THAT(texts, testing::Each(testing::AnyOf(texts[0], texts[1])));
}

TEST_F(ScrapeCacheTest, HaveCountsThatAreTooOldReadOnceForAllThatAsk) {
  publish(7);
  latest_.read -= 2h;

  ask();
  ask({Format::kOpenMetrics, {}, false});
  ask({}, true);
  loop_.run_for(50ms);

  EXPECT_EQ(polls_, 1);
  EXPECT_TRUE(responses_.empty());
  publish(8);
  await(3);
  EXPECT_THAT(text(0), HasSubstr("} 8\n"));
  EXPECT_EQ(polls_, 1);
}

TEST_F(ScrapeCacheTest, ServeOldCountsRatherThanNoneWhenAPollDoesNotEnd) {
  publish(7);
  latest_.read -= 2h;

  ask();
  await(1);

  EXPECT_EQ(polls_, 1);
  EXPECT_THAT(text(0), HasSubstr("} 7\n"));
}

TEST_F(ScrapeCacheTest, RenderAgainWhatHasGrownOldThoughNoPollEnds) {
  scrapes_.set_max_age(1ms);
  latest_ = {};  // before the first poll

  EXPECT_TRUE(test::comes_true([this] {
    ask();
    await(responses_.size() + 1);
    return readings_ == 2;
  }));
}

TEST_F(ScrapeCacheTest, ServeTheirOwnMetricsBeforeTheFirstPoll) {
  ask();
  await(1);

  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(text(0), HasSubstr("perf_event_exporter_polls_total 0\n"));
}

TEST_F(ScrapeCacheTest, RefuseTextsBeyondTheMostThatMayBeOrderedAndNoneThatIsShared) {
  scrapes_.set_max_jobs(1);
  publish(7);

  ask();
  ask();
  ask({Format::kOpenMetrics, {}, false});
  await(3);

  EXPECT_EQ(responses_[0].status, 503U);  // it did not have to wait
  EXPECT_EQ(responses_[1].status, 200U);
  EXPECT_EQ(responses_[2].status, 200U);
}

/// One of any number of different ones.
RenderOptions selected(int number) {
  return {Format::kText,
          {exposition::Selection::Rule::kOnly, {"core", "group" + std::to_string(number)}},
          false};
}

TEST_F(ScrapeCacheTest, RefuseNoWholeTextHoweverManySelectedOnesAreOrdered) {
  scrapes_.set_max_jobs(40);
  publish(7);
  for (int i = 0; i < 60; ++i) ask(selected(i));

  ask();
  ask({Format::kOpenMetrics, {}, false}, true);
  await(62);

  for (std::size_t i = 0; i < responses_.size(); ++i) {
    EXPECT_EQ(responses_[i].status, i < 20 ? 503U : 200U) << i;  // those did not have to wait
  }
}

TEST_F(ScrapeCacheTest, RenderWholeTextsBeforeSelectedOnesThatWereOrderedBefore) {
  publish(7);
  for (int i = 0; i < 20; ++i) ask(selected(i));
  ask();

  await(21);

  EXPECT_THAT(text(0), HasSubstr("perf_cpu_cycles_total"));  // the one that was begun
  EXPECT_THAT(text(0), testing::Not(HasSubstr("perf_event_exporter_polls_total")));
  EXPECT_THAT(text(1), HasSubstr("perf_event_exporter_polls_total"));
}

TEST_F(ScrapeCacheTest, KeepWholeTextsHoweverManySelectedOnesAreRendered) {
  publish(7);
  ask();
  await(1);
  for (int i = 0; i < 60; ++i) ask(selected(i));
  await(61);
  const int readings = readings_;

  ask();
  await(62);

  EXPECT_EQ(readings_, readings);
  EXPECT_EQ(responses_.back().body, responses_.front().body);
}

TEST_F(ScrapeCacheTest, HaveCountsHoweverManySnapshotsWerePublishedBeforeTheyWereRendered) {
  std::promise<void> release;
  boost::asio::post(worker_, [&] { release.get_future().wait(); });
  publish(7);
  ask();
  publish(8);
  ask({Format::kOpenMetrics, {}, false});
  publish(9);
  ask({Format::kOpenMetrics, {}, false});

  release.set_value();
  await(3);

  EXPECT_THAT(text(0), HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 7\n"));
  EXPECT_THAT(text(1), HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 9\n"));
  EXPECT_EQ(responses_[2].body, responses_[1].body);
}

TEST_F(ScrapeCacheTest, DropAllThatWaitWhenTheyAreStopped) {
  publish(7);
  latest_.read -= 2h;
  ask();

  scrapes_.stop();

  EXPECT_EQ(loop_.run_for(3s), 1U);  // the cancelled timer, and nothing else to wait for
  EXPECT_TRUE(responses_.empty());
}

}  // namespace
}  // namespace pex::daemon
