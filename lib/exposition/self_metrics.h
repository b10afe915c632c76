#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collect/poll_report.h"
#include "collect/snapshot.h"
#include "exposition/metric_names.h"
#include "host/own_process.h"

namespace pex::exposition {

/// The exporter's own health: perf_event_exporter_* and process_*. Not thread-safe.
class SelfMetrics {
 public:
  explicit SelfMetrics(const std::string& version);
  ~SelfMetrics();

  /// Whether a configured event can be counted on this machine. forget_events() before a new
  /// configuration tells of its own.
  void set_event_available(const std::string& event, Scope scope, bool available);
  void forget_events();

  void set_series_limit(std::size_t limit);
  void add_poll(const collect::PollReport& report, const collect::Snapshot& snapshot);
  void add_overruns(std::uint64_t missed);
  void set_config_loaded(bool successful);

  void set_process(const host::OwnProcess& process);

  /// Appends all of them to `text`, in the text format 0.0.4.
  void write(std::string& text) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace pex::exposition
