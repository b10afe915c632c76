#include "exposition/self_metrics.h"

#include "base/boot_clock.h"
#include "exposition/collected_family.h"
#include "exposition/process_metrics.h"
#include "exposition/renderer.h"
#include "exposition/self_families.h"
#include "support/test_headers.h"

namespace pex::exposition {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string written(const SelfMetrics& metrics, Format format = Format::kText) {
  const auto text = std::make_shared<std::string>();
  Renderer{}.render(nullptr, *metrics.read(), {format, {}, true}, text);
  return *text;
}

/// An owner of a gauge and of a counter.
class Owner final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    return {collected(self_family("perf_event_exporter_series_limit"), ++collections_),
            collected(self_family("perf_event_exporter_polls_total"), 7)};
  }

 private:
  mutable int collections_ = 0;
};

TEST(SelfMetricsTest, AreCollectedFromTheirOwnersWhenTheyAreRead) {
  const Owner owner;
  SelfMetrics metrics{"1.0"};
  metrics.add(owner);

  const std::string first = written(metrics);
  const std::string second = written(metrics);

  EXPECT_THAT(first, HasSubstr("\nperf_event_exporter_series_limit 1\n"));
  EXPECT_THAT(second, HasSubstr("\nperf_event_exporter_series_limit 2\n"));
  EXPECT_THAT(first, HasSubstr("\nperf_event_exporter_build_info{compiler=\""));
  EXPECT_THAT(first, Not(HasSubstr("compiler=\"\"")));
}

TEST(SelfMetricsTest, HaveCountersFirst) {
  const Owner owner;
  SelfMetrics metrics{"1.0"};
  metrics.add(owner);

  const std::string text = written(metrics);

  EXPECT_LT(text.find("perf_event_exporter_polls_total 7"), text.find("build_info"));
  EXPECT_LT(text.find("build_info"), text.find("series_limit"));
}

TEST(SelfMetricsTest, OfTheProcessCountFromItsStart) {
  const ProcessMetrics process{[] {
    host::SelfProcess self;
    self.cpu_seconds = 3;
    self.started =
        boot_time_of(std::chrono::system_clock::time_point{std::chrono::seconds{4'000'000'000}});
    return std::optional{self};
  }};
  SelfMetrics metrics{"1.0"};
  metrics.add(process);

  const std::string text = written(metrics, Format::kOpenMetrics);

  EXPECT_THAT(text, HasSubstr("\nprocess_cpu_seconds_total 3\n"
                              "process_cpu_seconds_created 4000000000\n"));
}

TEST(SelfMetricsTest, SayNothingOfDescriptorsThatAreNotCountedYet) {
  const ProcessMetrics process{[] { return std::optional{host::SelfProcess{}}; }};
  SelfMetrics metrics{"1.0"};
  metrics.add(process);

  const std::string text = written(metrics);

  EXPECT_THAT(text, Not(HasSubstr("process_open_fds")));
  EXPECT_THAT(text, HasSubstr("process_max_fds"));
}

}  // namespace
}  // namespace pex::exposition
