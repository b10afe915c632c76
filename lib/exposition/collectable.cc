#include "exposition/collectable.h"

#include <string_view>
#include <utility>

#include "exposition/catalogue.h"
#include "exposition/labels.h"

namespace pex::exposition {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::vector<ClientMetric::Label> labels_of(const SampleRun& run, std::size_t row) {
  std::vector<ClientMetric::Label> labels;
  for (const std::string_view part :
       {std::string_view{run.before}, run.rows->labels(row), std::string_view{run.behind}}) {
    for (auto& [name, value] : split_labels(part)) {
      labels.push_back({std::move(name), std::move(value)});
    }
  }
  return labels;
}

void add_run(const SampleRun& run, const collect::Snapshot& snapshot, MetricFamily& family) {
  std::vector<Number> numbers;
  read(run, snapshot, numbers);
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (!numbers[row]) continue;
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = labels_of(run, row);
    metric.counter.value = metric.gauge.value = numbers[row].as_double();
  }
}

}  // namespace

SnapshotCollectable::SnapshotCollectable(Source latest) : latest_(std::move(latest)) {}

std::vector<MetricFamily> SnapshotCollectable::Collect() const {
  std::vector<MetricFamily> families;
  const std::shared_ptr<const collect::Snapshot> snapshot = latest_();
  if (!snapshot) return families;
  const Catalogue catalogue{*snapshot};
  for (const PublishedFamily& published : catalogue.families()) {
    MetricFamily family;
    family.name = published.head.name;
    family.help = published.head.help;
    family.type = published.head.type == FamilyType::kCounter ? prometheus::MetricType::Counter
                                                              : prometheus::MetricType::Gauge;
    for (const SampleRun& run : published.runs) add_run(run, *snapshot, family);
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  return families;
}

}  // namespace pex::exposition
