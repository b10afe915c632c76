#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pex::daemon {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kLogfmt, kJson };

/// Further fields of a line, in their order: {{"interval", "1s"}}.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

/// The log of the program: one line for each event on stderr, in logfmt
/// (ts=... level=info msg="..." key=value) or as JSON objects. In place of logfmt, when stderr is
/// the journal of systemd, an entry there with fields of its own (journal.h). Thread-safe.
class Log {
 public:
  Log(LogLevel lowest, LogFormat format);
  ~Log();

  void debug(std::string_view message, const LogFields& fields = {});
  void info(std::string_view message, const LogFields& fields = {});
  void warn(std::string_view message, const LogFields& fields = {});
  void error(std::string_view message, const LogFields& fields = {});

  /// describe(error), with its errno as the last field.
  void warn(const Error& error, LogFields fields = {});
  void error(const Error& error, LogFields fields = {});

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

/// One line without its time: `level=info msg="..." key=value`, or the same as members of a JSON
/// object. Pure; control characters are escaped, so one event is always one line.
std::string format_line(LogFormat format, LogLevel level, std::string_view message,
                        const LogFields& fields);

/// ` key=value` for each of the fields, in logfmt.
std::string logfmt_pairs(const LogFields& fields);

/// Lets each message pass once in a minute, and remembers a bounded number of them: a failure that
/// comes back at every poll must not flood the log.
class OncePerMinute {
 public:
  using Clock = std::chrono::steady_clock;
  bool passes(const std::string& message, Clock::time_point now);

 private:
  std::map<std::string, Clock::time_point> passed_;
};

}  // namespace pex::daemon
