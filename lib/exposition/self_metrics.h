#pragma once

#include <prometheus/collectable.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/boot_clock.h"
#include "exposition/format_writer.h"
#include "exposition/selection.h"

namespace pex::exposition {

/// The exporter's own metrics at one moment; immutable, so any thread may write them.
class SelfReading {
 public:
  virtual ~SelfReading() = default;
  /// The selected ones: a series with a label `group` belongs to that group, all others, and those
  /// of auxiliary groups, to the exporter. The information about the build is always
  /// there, so that each scrape shows whose it is.
  virtual void write(const Selection& selection, FormatWriter& writer) const = 0;
};

/// The exporter's own metrics, perf_event_exporter_* and process_*: collected from their owners on
/// reading. Not thread-safe.
class SelfMetrics {
 public:
  /// `revision` is that of the source; empty: not known.
  explicit SelfMetrics(std::string version, std::string revision = {});

  /// `owner` is collected at each read() from now on, on the reading thread. It outlives the last
  /// one.
  void add(const prometheus::Collectable& owner) { owners_.push_back(&owner); }

  /// Counters come first; apart from that, families are in the order of their owners.
  std::shared_ptr<const SelfReading> read() const;

 private:
  std::string version_;
  std::string revision_;
  BootClock::time_point started_ = BootClock::now();
  std::vector<const prometheus::Collectable*> owners_;
};

}  // namespace pex::exposition
