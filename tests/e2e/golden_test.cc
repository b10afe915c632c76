// The real daemon over a scripted kernel and a small host tree: every poll of a case is scraped
// over HTTP, and all scrapes together must be the case's metrics.prom, byte for byte: the first one
// whole, of each other what differs from the one before. The last one in OpenMetrics has the same
// samples. What prometheus-cpp makes of the same snapshots says the same. The exporter's own
// metrics, and OpenMetrics (metrics.om), are recorded in one case only, so that one more changes
// two files. With PEX_UPDATE_GOLDEN=1 the files are written instead; read their diff like code.

#include <netinet/in.h>
#include <prometheus/text_serializer.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cmath>
#include <future>
#include <string_view>

#include "base/unique_fd.h"
#include "daemon/cli/words.h"
#include "daemon/run/app.h"
#include "e2e/script.h"
#include "exposition/collectable.h"
#include "support/test_headers.h"

namespace pex::test {
namespace {

namespace fs = std::filesystem;

/// What differs from run to run and from machine to machine.
constexpr std::string_view kVolatile[] = {
    "process_",
    "perf_event_exporter_build",
    "perf_event_exporter_poll_duration_seconds",
    "perf_event_exporter_cpu_wait_seconds",
    "perf_event_exporter_last_poll_timestamp_seconds",
    "perf_event_exporter_config_info",
    "perf_event_exporter_config_last_reload_success_timestamp_seconds",
    "perf_event_exporter_scrape_interval_seconds",
};

constexpr std::string_view kOwnMetrics[] = {"perf_event_exporter_", "perf_machine"};

/// The case that records them, in both formats; it has refusals, so that those are there as well.
constexpr std::string_view kCaseOfOwnMetrics = "event_missing_and_open_refused";

constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0";

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all{text};
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

/// What a line is about: the metric of a sample, the family of a comment.
std::string_view name_in(std::string_view line) {
  for (const std::string_view comment : {"# HELP ", "# TYPE ", "# UNIT "}) {
    if (line.starts_with(comment)) line.remove_prefix(comment.size());
  }
  return line;
}

template <typename Names>
bool is_about(std::string_view line, const Names& names) {
  return std::any_of(std::begin(names), std::end(names),
                     [line](std::string_view name) { return line.starts_with(name); });
}

/// The help of evidence is the same text whatever is counted.
bool is_help_of_evidence(std::string_view line) {
  const std::string_view name = name_in(line).substr(0, name_in(line).find(' '));
  return line.starts_with("# HELP ") &&
         (name.starts_with("perf_group_") || name.ends_with("_observed_total") ||
          name.ends_with("_variance_total"));
}

/// The scrape without what is volatile, and without the exporter's own metrics and the help of
/// evidence but where they are recorded. The order of samples of the exporter's own metrics means
/// nothing, so those of one family are sorted.
std::string recordable(const std::string& scrape, bool with_own_metrics) {
  std::string kept;
  std::set<std::string> own_series;
  const auto flush = [&] {
    for (const std::string& series : own_series) kept += series + '\n';
    own_series.clear();
  };
  for (const std::string& line : lines_of(scrape)) {
    const bool is_own = is_about(name_in(line), kOwnMetrics);
    const bool is_elsewhere = is_own || is_help_of_evidence(line);
    if (is_about(name_in(line), kVolatile) || (is_elsewhere && !with_own_metrics)) continue;
    if (is_about(line, kOwnMetrics)) {
      own_series.insert(line);
    } else {
      flush();
      kept += line + '\n';
    }
  }
  flush();
  return kept;
}

/// The body that a plain HTTP client gets.
std::string get(std::uint16_t port, const std::string& path, const std::string& accept = "") {
  const UniqueFd connection{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return "cannot connect";
  }
  const std::string request = "GET " + path + " HTTP/1.0\r\nAccept: " + accept + "\r\n\r\n";
  (void)::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char block[4096];
  for (ssize_t got = 0; (got = ::recv(connection.get(), block, sizeof block, 0)) > 0;) {
    answer.append(block, static_cast<std::size_t>(got));
  }
  const std::size_t body = answer.find("\r\n\r\n");
  return body == std::string::npos ? answer : answer.substr(body + 4);
}

/// A copy of the case's host tree, removed at the end.
class HostCopy {
 public:
  explicit HostCopy(const fs::path& original) {
    std::string pattern = (fs::temp_directory_path() / "pex_golden_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    fs::copy(original, path_, fs::copy_options::recursive);
  }
  ~HostCopy() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Runs a loop on a thread of its own, as the program does on its main thread.
class LoopThread {
 public:
  explicit LoopThread(boost::asio::io_context& loop)
      : loop_(loop), work_(loop.get_executor()), thread_([&loop] { loop.run(); }) {}
  ~LoopThread() {
    work_.reset();
    thread_.join();
  }
  template <typename Function>
  void call(Function function) {
    std::promise<void> done;
    boost::asio::post(loop_, [&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  boost::asio::io_context& loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

/// The samples of a text by their series; each has one only.
std::map<std::string, double> samples_of(const std::string& text) {
  std::map<std::string, double> samples;
  for (const std::string& line : lines_of(text)) {
    const std::size_t blank = line.rfind(' ');
    if (line.starts_with('#')) continue;
    EXPECT_TRUE(samples.emplace(line.substr(0, blank), std::stod(line.substr(blank + 1))).second)
        << line << " is there twice";
  }
  return samples;
}

/// What a scrape says that the one before did not, and which series it has no more.
std::string news(const std::string& scrape, const std::string& before) {
  const std::vector<std::string> old_lines = lines_of(before);
  const std::set<std::string> known{old_lines.begin(), old_lines.end()};
  std::string differing;
  for (const std::string& line : lines_of(scrape)) {
    if (!known.contains(line)) differing += line + '\n';
  }
  const std::map<std::string, double> samples = samples_of(scrape);
  for (const auto& [series, value] : samples_of(before)) {
    if (!samples.contains(series)) differing += "# gone " + series + '\n';
  }
  return differing;
}

/// prometheus-cpp writes 16 digits, of the 17 that a double may need.
constexpr double kSerializerError = 1e-15;

/// Everything that prometheus-cpp says of the snapshot is in `scrape`, as it says it.
void expect_agreement(std::shared_ptr<const collect::Snapshot> snapshot,
                      const std::string& scrape) {
  const exposition::SnapshotCollectable collectable{[&] { return snapshot; }};
  std::ostringstream serialized;
  prometheus::TextSerializer{}.Serialize(serialized, collectable.Collect());
  const std::map<std::string, double> ours = samples_of(scrape);
  const std::map<std::string, double> theirs = samples_of(serialized.str());
  EXPECT_FALSE(theirs.empty());
  for (const auto& [series, value] : theirs) {
    ASSERT_TRUE(ours.contains(series)) << series << " is not in\n" << scrape;
    EXPECT_NEAR(ours.at(series), value, std::abs(value) * kSerializerError) << series;
  }
}

/// No series of `before` has a higher value in `after`: what Prometheus would take for a reset.
void expect_no_fall(const std::string& before, const std::string& after) {
  const std::map<std::string, double> values = samples_of(before);
  for (const auto& [series, value] : samples_of(after)) {
    const auto old = values.find(series);
    if (old == values.end() || series.find("_total") == std::string::npos) continue;
    EXPECT_GE(value, old->second) << series << " fell";
  }
}

class GoldenTest : public testing::TestWithParam<fs::path> {};

/// All scrapes of a case in the text format, and the last one, whole, in both formats.
struct Recording {
  std::string text;
  std::string last;
  std::string openmetrics;
  std::string whole = {};  ///< the last one in the text format, with all that is not recorded
  bool is_late =
      false;  ///< a poll was published without a CPU: the machine gave its worker no time
};

bool has_late_cpus(const std::string& scrape) {
  const std::map<std::string, double> samples = samples_of(scrape);
  return std::any_of(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.first.starts_with("perf_event_exporter_cpu_late_polls_total{") &&
           sample.second > 0;
  });
}

Recording play(const fs::path& directory) {
  const HostCopy host{directory / "host"};
  ScriptedKernel kernel{(host.path() / "cgroup").string()};
  Script script{directory / "counters.script"};

  daemon::Options options;
  options.config_file = (directory / "config.yaml").string();
  options.listen_addresses = {"127.0.0.1:0"};
  options.roots = {(host.path() / "sys").string(), (host.path() / "proc").string(),
                   (host.path() / "cgroup").string()};
  daemon::Log log{daemon::LogLevel::kError, daemon::LogFormat::kLogfmt};

  Recording recording;
  const bool with_own_metrics = directory.filename() == kCaseOfOwnMetrics;
  bool more = script.advance(kernel, host.path());
  {
    boost::asio::io_context loop{1};
    daemon::App app{loop, options, kernel, log};
    kernel.only_tried(true);
    if (const auto started = app.start(); !started) {
      return {daemon::worded(started.error().front()) + "\n", {}, {}};
    }
    kernel.only_tried(false);
    if (const auto listening = app.listen(); !listening) {
      return {daemon::worded(listening.error().front()), {}, {}};
    }
    LoopThread thread{loop};
    std::string previous;
    for (int poll = 1; more; ++poll, more = script.advance(kernel, host.path())) {
      std::promise<void> published;
      thread.call([&] { EXPECT_TRUE(app.poll([&] { published.set_value(); })); });
      published.get_future().wait();
      const std::string all = get(app.ports().front(), "/metrics");
      recording.is_late = recording.is_late || has_late_cpus(all);
      recording.whole = all;
      const std::string scrape = recordable(all, with_own_metrics);
      expect_no_fall(previous, scrape);
      recording.text += "# poll " + std::to_string(poll) + "\n" + news(scrape, previous);
      previous = scrape;
      recording.openmetrics =
          recordable(get(app.ports().front(), "/metrics", kOpenMetrics), with_own_metrics);
      thread.call([&] { expect_agreement(app.snapshot(), scrape); });
    }
    recording.last = previous;
    thread.call([&app] { app.stop(); });
  }
  EXPECT_EQ(kernel.still_open(), 0U) << "counters were left open";
  return recording;
}

/// In which no CPU was late.
Recording play_in_time(const fs::path& directory) {
  constexpr int kTries = 20;
  Recording recording = play(directory);
  for (int tried = 1; recording.is_late && tried < kTries; ++tried) recording = play(directory);
  EXPECT_FALSE(recording.is_late) << "a CPU gave the daemon no time, " << kTries << " times";
  return recording;
}

/// The lines of samples, which are the same in both formats.
std::string samples_in(const std::string& scrape) {
  std::string samples;
  for (const std::string& line : lines_of(scrape)) {
    if (!line.starts_with('#')) samples += line + '\n';
  }
  return samples;
}

void compare(const std::string& recorded, const fs::path& golden) {
  if (::getenv("PEX_UPDATE_GOLDEN") != nullptr) {
    std::ofstream{golden} << recorded;
  } else {
    EXPECT_EQ(recorded, read_file(golden));
  }
}

TEST_P(GoldenTest, ScrapesAreAsRecorded) {
  const Recording recording = play_in_time(GetParam());

  compare(recording.text, GetParam() / "metrics.prom");
  EXPECT_EQ(samples_in(recording.openmetrics), samples_in(recording.last));
  if (GetParam().filename() == kCaseOfOwnMetrics) {
    compare(recording.openmetrics, GetParam() / "metrics.om");
  }
  if (::getenv("PEX_UPDATE_GOLDEN") != nullptr) GTEST_SKIP() << "wrote instead of comparing";
}

/// A fleet has as many series of each exporter as this: if you add one, drop another.
TEST(OwnSeriesTest, AreFewWithoutCgroups) {
  const std::string of_case = PEX_SOURCE_DIR "/tests/e2e/cases/twelve_values_on_two_cpus";
  const std::string scrape = play_in_time(of_case).whole;

  std::size_t values = 0;
  const std::map<std::string, double> samples = samples_of(scrape);
  for (const auto& [series, value] : samples) values += series.starts_with("perf_cpu_") ? 1 : 0;
  EXPECT_EQ(values, 12U);
  EXPECT_LE(samples.size() - values, 60U) << scrape;
  EXPECT_LE(scrape.size() - of_case.size(), 5940U) << "with all comments:\n" << scrape;
}

std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(PEX_SOURCE_DIR "/tests/e2e/cases")) {
    if (entry.is_directory()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string case_name(const testing::TestParamInfo<fs::path>& of) {
  return of.param.filename().string();
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace pex::test
