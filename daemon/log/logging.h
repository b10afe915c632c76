#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/cli/log_level.h"
#include "exposition/collected_family.h"

namespace pex::daemon {

class Outbox;

/// Further fields of a line, in their order: {{"interval", "1s"}}. Keys are literals.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

/// The log of the program: one line for each event on stderr, in logfmt (ts=... level=info
/// msg="..." key=value) or as JSON objects. If stderr is the journal of systemd, logfmt is replaced
/// by journal entries with fields (journal.h). Thread-safe while it has its thread.
///
/// No caller waits for a reader: lines go through a queue to a thread that writes them. When the
/// queue is full (4096 lines, 4 MiB), lines are dropped, and a later line reports how many. If no
/// thread is available, a line that stderr does not accept at once is dropped. spdlog only makes
/// the time stamps: its own queue joins its thread at the end without a timeout, and does not
/// support fields.
class Log final : public prometheus::Collectable {
 public:
  Log(LogLevel lowest, LogFormat format);
  /// Writes what is queued, for one second at most (outbox.h).
  ~Log() override;

  void debug(std::string_view message, const LogFields& fields = {});
  void info(std::string_view message, const LogFields& fields = {});
  void warn(std::string_view message, const LogFields& fields = {});
  void error(std::string_view message, const LogFields& fields = {});

  /// worded(error), with its errno as the last field.
  void warn(const Error& error, LogFields fields = {});
  void error(const Error& error, LogFields fields = {});

  /// Whether lines of that level are written.
  bool is_on(LogLevel level) const;

  /// Lines that were dropped: not accepted in time, or not written.
  std::uint64_t dropped() const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Sink;
  void write(LogLevel level, std::string_view message, LogFields fields);

  std::shared_ptr<Sink> sink_;
  std::unique_ptr<Outbox> outbox_;  ///< none: no thread was available
};

/// One line without its time: `level=info msg="..." key=value`, or the same as members of a JSON
/// object. Pure; whatever is not printable() is escaped, so one event is always one line.
std::string format_line(LogFormat format, LogLevel level, std::string_view message,
                        const LogFields& fields);

/// ` key=value` for each of the fields, in logfmt.
std::string logfmt_pairs(const LogFields& fields);

/// Lets each message pass once in a minute, and remembers a bounded number of them: a failure that
/// recurs at every poll must not flood the log.
class LogThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  bool passes(const std::string& message, Clock::time_point now);

 private:
  std::map<std::string, Clock::time_point> passed_;
};

}  // namespace pex::daemon
