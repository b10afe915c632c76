#include "exposition/collected_family.h"

#include "base/duration.h"

namespace pex::exposition {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

namespace {

MetricType type_of(FamilyType type) {
  switch (type) {
    case FamilyType::kCounter:
      return MetricType::Counter;
    case FamilyType::kHistogram:
      return MetricType::Histogram;
    case FamilyType::kGauge:
    case FamilyType::kInfo:
      break;
  }
  return MetricType::Gauge;
}

}  // namespace

MetricFamily collected(const FamilyEntry& family) {
  MetricFamily made;
  made.name = family.name;
  made.help = family.help;
  made.type = type_of(family.type);
  return made;
}

MetricFamily collected(const FamilyEntry& family, double value, SampleLabels labels) {
  MetricFamily made = collected(family);
  add_sample(made, labels, value);
  return made;
}

void add_sample(MetricFamily& family, SampleLabels labels, double value) {
  ClientMetric& sample = family.metric.emplace_back();
  sample.label.reserve(labels.size());
  for (const auto& [name, text] : labels) {
    sample.label.push_back({std::string(name), std::string(text)});
  }
  if (family.type == MetricType::Counter) {
    sample.counter.value = value;
  } else {
    sample.gauge.value = value;
  }
}

double seconds_since_epoch(BootClock::time_point time) {
  return seconds_of(date_of(time).time_since_epoch());
}

}  // namespace pex::exposition
