#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/boot_clock.h"
#include "exposition/family.h"

namespace pex::exposition {

/// A family of our tables as prometheus::Collectable returns it, without samples: in this state it
/// is not published.
prometheus::MetricFamily collected(const FamilyEntry& family);

using SampleLabels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// The same with one sample.
prometheus::MetricFamily collected(const FamilyEntry& family, double value,
                                   SampleLabels labels = {});

void add_sample(prometheus::MetricFamily& family, SampleLabels labels, double value);

/// As the value of a sample.
double seconds_since_epoch(BootClock::time_point time);

}  // namespace pex::exposition
