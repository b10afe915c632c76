#include "exposition/self_metrics.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/boot_clock.h"
#include "base/compiler.h"
#include "exposition/collected_family.h"
#include "exposition/labels.h"
#include "exposition/self_families.h"
#include "targets/counting_plan.h"

namespace pex::exposition {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Clock = BootClock;

constexpr std::string_view kBuildInfo = self_family("perf_event_exporter_build_info").name;
constexpr std::string_view kProcessStart = self_family("process_start_time_seconds").name;

MetricFamily build_info(const std::string& version, const std::string& revision) {
  return collected(self_family("perf_event_exporter_build_info"), 1,
                   {{"compiler", kCompiler}, {"revision", revision}, {"version", version}});
}

FamilyType type_of(const MetricFamily& family) {
  if (family.type == MetricType::Counter) return FamilyType::kCounter;
  if (family.type == MetricType::Histogram) return FamilyType::kHistogram;
  return family.name.ends_with("_info") ? FamilyType::kInfo : FamilyType::kGauge;
}

/// The group that selects a sample; the pieces of a group belong to it, and auxiliary groups to the
/// exporter.
std::string_view group_of(const ClientMetric& metric) {
  for (const auto& [name, value] : metric.label) {
    if (name == "group" && !value.starts_with('(')) return collect::configured_name(value);
  }
  return kExporterGroup;
}

Clock::time_point time_point_of(double seconds_since_epoch) {
  return boot_time_of(std::chrono::system_clock::time_point{
      std::chrono::milliseconds{static_cast<std::int64_t>(seconds_since_epoch * 1e3)}});
}

class CollectedReading final : public SelfReading {
 public:
  CollectedReading(std::vector<MetricFamily> families, Clock::time_point started)
      : started_(started), process_started_(started) {
    for (MetricFamily& family : families) {
      if (family.metric.empty()) continue;
      if (family.name == kProcessStart) {
        process_started_ = time_point_of(family.metric.front().gauge.value);
      }
      const FamilyType type = type_of(family);
      families_.push_back(
          {{std::move(family.name), std::move(family.help), type}, std::move(family.metric)});
    }
  }

  void write(const Selection& selection, FormatWriter& writer) const override {
    for (const Family& family : families_) {
      writer.begin(family.head);
      for (const ClientMetric& sample : family.samples) {
        if (family.head.name != kBuildInfo && !selection.has(group_of(sample))) continue;
        if (family.head.type == FamilyType::kHistogram) {
          writer.write(sample.histogram, since(family));
          continue;
        }
        const double value = family.counts() ? sample.counter.value : sample.gauge.value;
        writer.write(with_labels({}, sample.label), real(value), since(family));
      }
    }
  }

 private:
  struct Family {
    FamilyHead head;
    std::vector<ClientMetric> samples;

    bool counts() const { return head.type == FamilyType::kCounter; }
  };

  /// The start time: counters of the process begin with the process.
  Clock::time_point since(const Family& family) const {
    return family.head.name.starts_with("process_") ? process_started_ : started_;
  }

  std::vector<Family> families_;
  Clock::time_point started_;
  Clock::time_point process_started_;
};

}  // namespace

SelfMetrics::SelfMetrics(std::string version, std::string revision)
    : version_(std::move(version)), revision_(std::move(revision)) {}

std::shared_ptr<const SelfReading> SelfMetrics::read() const {
  std::vector<MetricFamily> families;
  families.push_back(build_info(version_, revision_));
  for (const prometheus::Collectable* owner : owners_) {
    std::vector<MetricFamily> collected = owner->Collect();
    std::move(collected.begin(), collected.end(), std::back_inserter(families));
  }
  std::stable_partition(families.begin(), families.end(), [](const MetricFamily& family) {
    return family.type == MetricType::Counter;
  });
  return std::make_shared<const CollectedReading>(std::move(families), started_);
}

}  // namespace pex::exposition
