#include "daemon/run/app.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string_view>

#include "base/unique_fd.h"
#include "support/forwarding_kernel.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/http/raw_client.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

/// Whether the caller is the thread of a CPU, which polls; a reload is planned by another one.
bool is_worker() {
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return std::string_view(name).starts_with("cpu");
}

/// Holds who plans in opens, and who polls in reads, until they are let go.
class HeldKernel final : public test::ForwardingKernel {
 public:
  using ForwardingKernel::ForwardingKernel;

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    if (!is_worker()) pass(opens_);
    return ForwardingKernel::open(request);
  }
  Result<> disable_group(int leader_fd) override {
    ++stops_;
    return ForwardingKernel::disable_group(leader_fd);
  }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    if (is_worker()) pass(reads_);
    return ForwardingKernel::read_group(leader_fd, words);
  }

  void hold_opens() { hold(opens_, true); }
  void hold_reads() { hold(reads_, true); }
  void let_reads_go() { hold(reads_, false); }
  void let_go() {
    hold(opens_, false);
    hold(reads_, false);
  }
  /// Until somebody is held in an open, or in a read.
  void await_open() { await(opens_); }
  void await_read() { await(reads_); }

  int stops() const { return stops_; }  ///< how often a group was disabled

 private:
  struct Door {
    bool is_held = false;
    int waiting = 0;
  };
  void pass(Door& door) {
    std::unique_lock lock{mutex_};
    ++door.waiting;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !door.is_held; });
    --door.waiting;
  }
  void hold(Door& door, bool is_held) {
    const std::lock_guard lock{mutex_};
    door.is_held = is_held;
    changed_.notify_all();
  }
  void await(Door& door) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return door.is_held && door.waiting > 0; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Door opens_;
  Door reads_;
  std::atomic<int> stops_ = 0;
};

/// "200 BODY".
std::string answer_to(http::RawClient client) {
  const http::Reply reply = client.read_reply();
  return std::to_string(reply.status) + " " + reply.body;
}

std::string config_of(const std::string& event) {
  return "groups: [{name: core, events: [" + event + "], scope: cpu}]\n";
}

/// In the place of systemd: sd_notify(3).
class NotifySocket {
 public:
  NotifySocket() {
    const std::string path = folder_.path("notify");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() { ::unsetenv("NOTIFY_SOCKET"); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  /// The states that come in up to `last`: those of a start, a reload and the end.
  std::vector<std::string> states_until(const std::string& last) {
    std::vector<std::string> states;
    char text[4096];
    while (states.empty() || states.back() != last) {
      const ssize_t got = ::recv(socket_.get(), text, sizeof text, 0);
      if (got <= 0) break;
      const std::string message{text, static_cast<std::size_t>(got)};
      for (const std::string state : {"READY=1", "RELOADING=1", "STOPPING=1"}) {
        if (message.find(state) != message.npos) states.push_back(state);
      }
    }
    return states;
  }

 private:
  test::TempTree folder_;
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

/// A program that has counted cycles once, and serves.
class ReloadTest : public testing::Test {
 protected:
  ReloadTest() {
    tree_.write("config.yaml", config_of("cycles"));
    EXPECT_TRUE(app_.start());
    EXPECT_TRUE(app_.listen());
    port_ = app_.ports().front();
    thread_ = std::thread{[this] { loop_.run(); }};
    poll().wait();
  }
  ~ReloadTest() override {
    kernel_.let_go();
    boost::asio::post(loop_, [this] {
      app_.stop();
      work_.reset();
    });
    thread_.join();
  }

  std::future<void> poll() {
    auto published = std::make_shared<std::promise<void>>();
    boost::asio::post(loop_, [this, published] {
      EXPECT_TRUE(app_.poll([published] { published->set_value(); }));
    });
    return published->get_future();
  }

  /// As of now: a client may get what was rendered for another one.
  std::string scrape() {
    std::promise<std::string> rendered;
    boost::asio::post(loop_, [&] { rendered.set_value(app_.scrape()); });
    return rendered.get_future().get();
  }
  /// A poll that began after the call has been published.
  void poll_after_change() {
    for (bool is_begun = false; !is_begun;) {
      std::promise<void> published;
      std::promise<bool> begun;
      boost::asio::post(loop_, [&] { begun.set_value(app_.poll([&] { published.set_value(); })); });
      is_begun = begun.get_future().get();
      if (is_begun) published.get_future().wait();
    }
  }

  /// Its request has been sent: requests are taken in this order.
  http::RawClient asking(const std::string& request) const {
    http::RawClient client{port_};
    client.send(request + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return client;
  }
  std::string ask(const std::string& request) const { return answer_to(asking(request)); }
  std::string get(const std::string& path) { return ask("GET " + path); }
  /// Once it is not too soon after the last one.
  std::string insist(const std::string& request) {
    std::string answer;
    while ((answer = ask(request)).starts_with("429")) std::this_thread::yield();
    return answer;
  }
  void await_in_metrics(const std::string& text) {
    while (get("/metrics").find(text) == std::string::npos) std::this_thread::yield();
  }
  void await_groups(const std::vector<std::string>& groups) {
    while (scripted_.open_groups() != groups) std::this_thread::yield();
  }
  void reload_with(const std::string& config) {
    tree_.write("config.yaml", config);
    EXPECT_THAT(insist("POST /-/reload"), StartsWith("200"));
  }
  std::future<std::string> reload() {
    return std::async(std::launch::async, [client = asking("POST /-/reload")]() mutable {
      return answer_to(std::move(client));
    });
  }

  static Options options(const test::TempTree& tree) {
    Options options = options_in(tree);
    options.lifecycle = true;
    return options;
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"}, {"cgroup/cgroup.controllers", ""}};
  NotifySocket systemd_;  ///< before the program, which looks for it
  test::ScriptedKernel scripted_;
  HeldKernel kernel_{scripted_};
  Log log_{LogLevel::kError, LogFormat::kLogfmt};
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  App app_{loop_, options(tree_), kernel_, log_};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(ReloadTest, IsPlannedWhileTheLoopServes) {
  kernel_.hold_opens();
  tree_.write("config.yaml", config_of("branches"));

  std::future<std::string> reloaded = reload();
  kernel_.await_open();

  EXPECT_THAT(get("/-/healthy"), HasSubstr("healthy"));
  EXPECT_THAT(get("/metrics"), HasSubstr("perf_cpu_cycles_total"));
  EXPECT_THAT(get("/api/v1/status"), StartsWith("200"));
  kernel_.let_go();
  EXPECT_THAT(reloaded.get(), AllOf(StartsWith("200"), HasSubstr("configuration reloaded")));
}

TEST_F(ReloadTest, ClosesTheOldCountersBeforeItOpensNewOnesWhileTheLoopServes) {
  kernel_.hold_reads();
  std::future<void> polled = poll();
  kernel_.await_read();
  tree_.write("config.yaml", config_of("branches"));

  std::future<std::string> reloaded = reload();

  EXPECT_THAT(get("/-/healthy"), HasSubstr("healthy"));
  EXPECT_THAT(get("/metrics"), HasSubstr("perf_cpu_cycles_total"));
  kernel_.let_go();
  EXPECT_THAT(reloaded.get(), StartsWith("200"));
  await_groups({"cpu0 branches", "cpu0 dummy"});
}

TEST_F(ReloadTest, IsFollowedByOneMoreForAllWhoAskMeanwhile) {
  kernel_.hold_opens();
  tree_.write("config.yaml", config_of("branches"));
  std::future<std::string> first = reload();
  kernel_.await_open();
  tree_.write("config.yaml", config_of("brunches"));

  std::future<std::string> second = reload();
  std::future<std::string> third = reload();
  (void)get("/-/healthy");
  kernel_.let_go();

  EXPECT_THAT(first.get(), StartsWith("200"));
  EXPECT_THAT(second.get(), HasSubstr("did you mean 'branches'?"));
  EXPECT_THAT(third.get(), HasSubstr("the previous configuration stays in force"));
}

TEST_F(ReloadTest, ShowsWhichConfigurationIsInForce) {
  const std::string labels = ",source=\"" + tree_.path("config.yaml") + "\",revision=";
  const auto info = [&](const std::string& hash, const std::string& revision) {
    return HasSubstr("\nperf_event_exporter_config_info{hash=\"" + hash + "\"" + labels + "\"" +
                     revision + "\"} 1\n");
  };
  EXPECT_THAT(scrape(), info("58935cc60b29", ""));

  reload_with(config_of("cycles") + "revision: v2\n");
  EXPECT_THAT(scrape(), info("11f6e0dbd6fc", "v2"));
}

TEST_F(ReloadTest, OfAFileForANewerVersionIgnoresWhatIsNotKnownAndCountsIt) {
  const std::string unknown = "perf_event_exporter_config_unknown_keys ";
  EXPECT_THAT(scrape(), HasSubstr(unknown + "0\n"));

  reload_with("requires: '99'\n" + config_of("cycles") + "colour: blue\n");

  EXPECT_THAT(scrape(), HasSubstr(unknown + "1\n"));
  EXPECT_THAT(get("/api/v1/status"), HasSubstr("config.yaml:3:1: colour: unknown key: ignored"));
}

TEST_F(ReloadTest, AfterwardsTheStatusSaysWhichPmusWaitForACpuNow) {
  const std::string pmu = "sys/bus/event_source/devices/imc_0";
  tree_.write(pmu + "/type", "20\n");
  tree_.write(pmu + "/format/event", "config:0-7\n");
  tree_.write("config.yaml", config_of("imc/event=1/"));
  tree_.write(pmu + "/cpumask", "\n");
  reload().wait();
  for (const bool waits : {true, false, true, false}) {
    tree_.write(pmu + "/cpumask", waits ? "\n" : "0\n");
    poll_after_change();

    EXPECT_EQ(get("/api/v1/status").find("PMU 'imc_0' wait") != std::string::npos, waits);
  }
}

TEST_F(ReloadTest, KeepsTheCountersWhenNothingElseIsCounted) {
  const std::vector<std::string> before = scripted_.open_groups();
  reload_with(config_of("cycles") + "collection: {interval: 5s}\n");

  EXPECT_EQ(scripted_.open_groups(), before);
}

TEST_F(ReloadTest, IsNotOverForSystemdWhileAnotherOneRuns) {
  kernel_.hold_reads();
  reload_with(config_of("branches"));
  kernel_.await_read();  // of its first poll
  kernel_.hold_opens();
  tree_.write("config.yaml", config_of("instructions"));
  std::this_thread::sleep_for(Reloader::kBetweenClients);
  std::future<std::string> second = reload();
  kernel_.await_open();
  kernel_.let_reads_go();
  await_in_metrics("perf_cpu_branches_total");

  kernel_.let_go();
  EXPECT_THAT(second.get(), StartsWith("200"));
  await_in_metrics("perf_cpu_instructions_total");
  boost::asio::post(loop_, [this] { app_.stop(); });

  EXPECT_THAT(systemd_.states_until("STOPPING=1"),
              ElementsAre("READY=1", "RELOADING=1", "RELOADING=1", "READY=1", "STOPPING=1"));
}

TEST_F(ReloadTest, DoesNotEndAPause) {
  EXPECT_THAT(ask("POST /-/pause"), HasSubstr("paused for 5m"));
  reload_with(config_of("branches"));

  EXPECT_THAT(get("/metrics"), HasSubstr("perf_event_exporter_paused 1"));
  await_groups({"cpu0 branches", "cpu0 dummy"});
  EXPECT_THAT(ask("POST /-/resume"), StartsWith("200"));
  EXPECT_TRUE(scripted_.runs("cpu0 branches"));
}

TEST_F(ReloadTest, ThatIsPlannedAtTheEndIsGivenUp) {
  kernel_.hold_opens();
  tree_.write("config.yaml", config_of("branches"));
  std::future<std::string> reloaded = reload();
  kernel_.await_open();

  boost::asio::post(loop_, [this] { app_.stop(); });
  kernel_.let_go();

  EXPECT_THAT(reloaded.get(), Not(StartsWith("200")));
}

using PauseTest = ReloadTest;

TEST_F(PauseTest, StopsHardwareEventsUntilItIsEnded) {
  EXPECT_THAT(ask("POST /-/pause?for=10m"), AllOf(StartsWith("200"), HasSubstr("paused for 10m")));
  EXPECT_FALSE(scripted_.runs("cpu0 cycles"));
  EXPECT_THAT(get("/metrics"), HasSubstr("perf_event_exporter_paused 1"));
  EXPECT_THAT(get("/api/v1/status"), HasSubstr("POST /-/resume ends the pause"));

  EXPECT_THAT(ask("POST /-/resume"), StartsWith("200"));

  EXPECT_TRUE(scripted_.runs("cpu0 cycles"));
  EXPECT_THAT(get("/metrics"), Not(HasSubstr("perf_event_exporter_paused")));
}

TEST_F(PauseTest, ARequestToEndNoneTakesNoPoll) {
  const auto polls = [this] {
    const std::string text = get("/metrics");
    const std::string_view name = "\nperf_event_exporter_polls_total ";
    return std::stoi(text.substr(text.find(name) + name.size()));
  };
  const int before = polls();

  constexpr int kRequests = 30;
  for (int request = 0; request < kRequests; ++request) {
    EXPECT_THAT(ask("POST /-/resume"), StartsWith("200"));
  }

  EXPECT_LT(polls(), before + kRequests / 2);
}

TEST_F(PauseTest, EndsByItself) {
  EXPECT_THAT(ask("POST /-/pause?for=1s"), StartsWith("200"));
  EXPECT_GT(kernel_.stops(), 0);

  while (!scripted_.runs("cpu0 cycles")) std::this_thread::yield();
}

TEST_F(PauseTest, ASecondOneDeterminesHowLongItTakes) {
  const auto is_too_soon = [this](const std::string& length) {
    return ask("POST /-/pause?for=" + length).starts_with("429");
  };
  while (!is_too_soon("1h")) {  // on a busy machine a second may pass between two of them
  }
  while (is_too_soon("1s")) std::this_thread::yield();

  while (!scripted_.runs("cpu0 cycles")) std::this_thread::yield();
}

TEST_F(PauseTest, OfEverythingHasNoEndAndHoldsNoEvent) {
  EXPECT_THAT(ask("POST /-/pause?scope=all"),
              AllOf(StartsWith("200"), HasSubstr("all groups are paused: POST /-/resume")));

  EXPECT_THAT(scripted_.open_groups(), IsEmpty());
  EXPECT_THAT(
      get("/metrics"),
      AllOf(HasSubstr("perf_event_exporter_paused 1"), HasSubstr("perf_event_exporter_counting 0"),
            HasSubstr("reduced_info{counted=\"nothing\",reason=\"pause\"} 1")));
  EXPECT_THAT(get("/-/ready"), StartsWith("200"));
}

TEST_F(PauseTest, OfEverythingKeepsTotalsAndIsNoTime) {
  scripted_.answer("cpu0 cycles", {.enabled = 1s, .running = 1s, .counts = {7}});
  poll().wait();
  EXPECT_THAT(ask("POST /-/pause?scope=all"), StartsWith("200"));
  scripted_.pass(1h);
  scripted_.answer("cpu0 cycles", {.enabled = 2s, .running = 2s, .counts = {5}});

  EXPECT_THAT(ask("POST /-/resume"), StartsWith("200"));

  EXPECT_THAT(scripted_.open_groups(), ElementsAre("cpu0 cycles", "cpu0 dummy"));
  const std::string scrape = get("/metrics");
  EXPECT_THAT(scrape, HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 12"));
  EXPECT_THAT(scrape, HasSubstr("perf_group_enabled_seconds_total{group=\"core\",cpu=\"0\"} 3"));
  EXPECT_THAT(scrape, Not(HasSubstr("reduced_info")));
}

TEST_F(PauseTest, OfEverythingStaysOverAReloadAndAPauseOfHardwareEvents) {
  EXPECT_THAT(ask("POST /-/pause?scope=all&for=168h"), HasSubstr("all groups are paused for 168h"));
  reload_with(config_of("page-faults"));

  EXPECT_THAT(insist("POST /-/pause?for=1s"), HasSubstr("all groups are paused for another"));

  EXPECT_THAT(scripted_.open_groups(), IsEmpty());
  EXPECT_THAT(ask("POST /-/resume"), StartsWith("200"));
  EXPECT_THAT(scripted_.open_groups(), ElementsAre("cpu0 dummy", "cpu0 page-faults"));
}

TEST_F(PauseTest, IsOfHardwareEventsOrOfAll) {
  EXPECT_THAT(ask("POST /-/pause?scope=some"),
              AllOf(StartsWith("400"), HasSubstr("neither hardware nor all")));
  EXPECT_THAT(ask("POST /-/pause?scope=all&for=169h"), HasSubstr("from 1s to 168h"));
  EXPECT_THAT(ask("POST /-/pause?scope=hardware"), HasSubstr("hardware events are paused for 5m"));
}

/// As KVM may be loaded, just before its first virtual machine starts.
TEST_F(ReloadTest, ThatNobodyAsksForLeavesOutGuestsOnceKvmGivesThemThePmu) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  tree_.write("sys/module/kvm_intel/parameters/enable_mediated_pmu", "Y\n");
  const std::string info = "perf_event_exporter_guests_left_out_info{reason=\"mediated_pmu\"} 1";
  EXPECT_THAT(scrape(), Not(HasSubstr("guests_left_out")));

  while (scrape().find(info) == std::string::npos) poll_after_change();

  EXPECT_THAT(get("/metrics"), HasSubstr("perf_cpu_cycles_total{cpu=\"0\"}"));
  while (!scripted_.could_give_guests_the_pmu()) poll_after_change();
  reload_with(config_of("cycles, branches"));
  poll_after_change();
  EXPECT_TRUE(scripted_.could_give_guests_the_pmu()) << "at any moment from then on";
  EXPECT_THAT(get("/metrics"), HasSubstr("perf_cpu_branches_total{cpu=\"0\"}"));
  tree_.write("sys/module/kvm_intel/parameters/enable_mediated_pmu", "N\n");
  while (scrape().find(info) != std::string::npos) poll_after_change();
}

TEST_F(ReloadTest, ThatDisablesCountingClosesEveryEventAndTheNextOneStartsAt0) {
  const std::string enabled = config_of("cycles");
  scripted_.answer("cpu0 cycles", {.enabled = 1s, .running = 1s, .counts = {7}});
  poll().wait();
  const std::size_t opened = scripted_.opened();
  reload_with("enabled: false\n" + enabled);
  poll_after_change();

  EXPECT_EQ(scripted_.opened(), opened) << "nothing is tried";
  EXPECT_THAT(scripted_.open_groups(), IsEmpty());
  const std::string scrape = get("/metrics");
  EXPECT_THAT(scrape, Not(HasSubstr("perf_cpu_")));
  EXPECT_THAT(scrape, HasSubstr("reduced_info{counted=\"nothing\",reason=\"configuration\"} 1"));
  EXPECT_THAT(get("/-/ready"), StartsWith("200"));
  EXPECT_THAT(get("/api/v1/status"), HasSubstr("counting is disabled by the configuration"));

  reload_with(enabled);
  poll_after_change();

  EXPECT_THAT(get("/metrics"), HasSubstr("perf_cpu_cycles_total{cpu=\"0\"} 0"));
}

TEST_F(PauseTest, IsAskedForWithADurationThatIsNotTooLong) {
  for (const char* length : {"61m", "0s", "10", "-5m", "", "1m&for=2m"}) {
    EXPECT_THAT(ask(std::string{"POST /-/pause?for="} + length),
                AllOf(StartsWith("400"), HasSubstr("from 1s to 1h")))
        << length;
  }
  EXPECT_THAT(get("/-/pause"), HasSubstr("405"));
  EXPECT_TRUE(scripted_.runs("cpu0 cycles"));
}

}  // namespace
}  // namespace pex::daemon
