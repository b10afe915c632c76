#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collect/poll_report.h"
#include "collect/snapshot.h"
#include "exposition/format_writer.h"
#include "exposition/metric_names.h"
#include "exposition/selection.h"
#include "host/self_process.h"

namespace pex::exposition {

/// The exporter's own metrics as they were at one moment; immutable, so any thread may write them.
class SelfReading {
 public:
  virtual ~SelfReading() = default;
  /// Those that are chosen: what has a label `group` goes with that group, all else with the
  /// exporter.
  virtual void write(const Selection& selection, FormatWriter& writer) const = 0;
};

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
  /// Of the web configuration file; without one it is never called, and there is no such metric.
  void set_web_config_loaded(bool successful);
  /// Changes of that file which lower a protection; 0 of them makes the series known.
  void add_web_config_downgrades(std::string_view protection, std::string_view outcome,
                                 unsigned changes);
  void set_connections(std::size_t open);
  /// What has befallen clients so far, by reason.
  void set_http_troubles(std::string_view reason, std::uint64_t total);
  /// Messages of the log that were dropped so far.
  void set_log_dropped(std::uint64_t total);

  void set_process(const host::SelfProcess& process);

  std::shared_ptr<const SelfReading> read() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace pex::exposition
