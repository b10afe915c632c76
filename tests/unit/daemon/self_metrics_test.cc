// g++ 12 takes parts of std::regex's automaton for uninitialized where AddressSanitizer is in it.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// The exporter's own metrics are those of the tables, and have the labels that the tables name.

#include "exposition/self_metrics.h"

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <iterator>
#include <regex>

#include "base/lookup.h"
#include "daemon/run/active_session.h"
#include "daemon/run/pause.h"
#include "daemon/run/readiness.h"
#include "daemon/web/web_server.h"
#include "docs/generator/metric_texts.h"
#include "exposition/poll_metrics.h"
#include "exposition/process_metrics.h"
#include "exposition/renderer.h"
#include "exposition/self_families.h"
#include "support/events.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/exposition/snapshots.h"

namespace pex::daemon {
namespace {

using exposition::FamilyEntry;
using exposition::FamilyType;
using ::testing::HasSubstr;

/// A poll that has everything to report.
void add_poll(exposition::PollMetrics& polls) {
  collect::CountingPlan plan;
  plan.cpu = test::scope_plan({{"core", {"cycles"}}, {"(clock)", {"cpu-clock"}}});
  plan.cpu.groups[1].is_published = false;
  plan.cgroup = test::scope_plan({{"core", {"cycles"}}});
  plan.sums.emplace_back().name = "workload";
  auto snapshot = std::make_shared<collect::Snapshot>();
  snapshot->targets = exposition::targets({});
  snapshot->cpu = exposition::tables(plan.cpu, 0, {});
  snapshot->cgroup = exposition::tables(plan.cgroup, 0, {});
  snapshot->sums.emplace_back().groups = exposition::tables(plan.cgroup, 0, {});
  snapshot->plan = std::make_shared<const collect::CountingPlan>(plan);
  collect::PollReport report;
  report.of_group("core").anomalies = 1;
  report.cgroups_left_out = {{"max", 1}};
  report.refusals[{"cycles", EMFILE}] = 1;
  report.now.late_cpus = {1};
  report.now.cpus_by_records = 1;
  report.waited_for_cpu = std::chrono::milliseconds{2};
  report.now.uncounted.emplace();
  polls.add(report, std::move(snapshot));
}

/// All that there can be at once, from all who own metrics.
std::string everything() {
  const test::TempTree tree{
      {"sys/devices/system/cpu/online", "0\n"},
      {"sys/bus/event_source/devices/cpu/type", "4\n"},
      {"config.yaml",
       "groups: [{name: core, events: [cycles, branches], scope: [cpu, cgroup], duty_cycle: {on: "
       "10s, every: 60s}}]\nguests: exclude\ncgroups: {sums: [{name: all, by: []}]}\n"},
      {"cgroup/cgroup.procs", ""},
      {"web.yaml", "http_server_config: {http2: false}\n"}};
  Options options = options_in(tree);
  options.web_config_file = tree.path("web.yaml");
  test::ScriptedKernel kernel;
  kernel.refuse("branches", ENOENT);
  const Log log{LogLevel::kError, LogFormat::kLogfmt};
  Log web_log{LogLevel::kError, LogFormat::kLogfmt};
  boost::asio::io_context loop{1};

  ActiveSession session{options, kernel, web_log};
  auto planned = session.plan();
  EXPECT_TRUE(planned) << describe(planned.error().front());
  session.adopt(std::move(*planned));
  exposition::PollMetrics polls;
  add_poll(polls);
  const Counting counting{polls, [] { return std::vector{Reduction{Counted::kNothing, "pause"}}; }};
  WebServer server{loop, options, {}, web_log};
  EXPECT_TRUE(server.listen({}));
  const exposition::ProcessMetrics process{[] {
    host::SelfProcess self;
    self.open_fds = 3;
    return std::optional{self};
  }};
  Pause pause{loop, [] {}};
  pause.begin(PauseRequest{});
  exposition::SelfMetrics metrics{"1.0"};
  for (const prometheus::Collectable* owner : std::initializer_list<const prometheus::Collectable*>{
           &session, &counting, &polls, &server, &log, &server.access_status(), &pause, &process}) {
    metrics.add(*owner);
  }
  const auto text = std::make_shared<std::string>();
  exposition::Renderer{}.render(nullptr, *metrics.read(), {}, text);
  server.stop();
  return *text;
}

/// "# TYPE name type", as the text format has it, which knows no info.
std::string type_line(const FamilyEntry& family) {
  const char* type = family.type == FamilyType::kCounter     ? " counter\n"
                     : family.type == FamilyType::kHistogram ? " histogram\n"
                                                             : " gauge\n";
  return "# TYPE " + std::string(family.name) + type;
}

TEST(SelfMetricsTest, AreThoseOfTheTables) {
  std::vector<FamilyEntry> families(std::begin(exposition::kSelfFamilies),
                                    std::end(exposition::kSelfFamilies));
  families.insert(families.end(), std::begin(exposition::kProcessFamilies),
                  std::end(exposition::kProcessFamilies));

  const std::string text = everything();

  // Nobody has scraped, and nothing was refused or dropped.
  std::erase_if(families, [](const FamilyEntry& family) {
    return family.name == "perf_event_exporter_scrape_interval_seconds" ||
           family.name == "perf_event_exporter_http_errors_total" ||
           family.name == "perf_event_exporter_log_messages_dropped_total";
  });
  for (const FamilyEntry& family : families) EXPECT_THAT(text, HasSubstr(type_line(family)));
  std::size_t published = 0;
  for (std::size_t at = 0; (at = text.find("# TYPE ", at)) != text.npos; ++at) ++published;
  EXPECT_EQ(published, families.size());
}

TEST(SelfMetricsTest, HaveAHelpOfOneSentence) {
  for (const std::string& line : lines_of(everything())) {
    if (!line.starts_with("# HELP perf_")) continue;
    EXPECT_EQ(line.find(". "), line.npos) << line;
    EXPECT_TRUE(line.ends_with('.')) << line;
  }
}

TEST(SelfMetricsTest, HaveTheLabelsThatTheTableHas) {
  const std::string text = everything();

  for (const FamilyEntry& family : exposition::kSelfFamilies) {
    const auto* const text_of_it = lookup(docs::kSelfTexts, &docs::MetricText::name, family.name);
    const std::string documented(text_of_it == nullptr ? "" : text_of_it->labels);
    const std::regex sample("\n" + std::string(family.name) + "\\{(.*)\\}");
    const std::regex label("([a-z_]+)=\"([^\"]*)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), sample), end; at != end; ++at) {
      const std::string labels = at->str(1);
      for (std::sregex_iterator of(labels.begin(), labels.end(), label); of != end; ++of) {
        const std::string name = "`" + of->str(1) + "`";
        EXPECT_THAT(documented, HasSubstr(name));
        const bool lists_values = documented.find(name + ": ") != documented.npos;
        EXPECT_THAT(documented, HasSubstr(lists_values ? of->str(2) : ""));
      }
    }
  }
}

}  // namespace
}  // namespace pex::daemon
