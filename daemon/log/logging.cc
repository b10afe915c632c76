#include "daemon/log/logging.h"

#include <spdlog/pattern_formatter.h>

#include <algorithm>
#include <atomic>

#include "base/utf8.h"
#include "daemon/cli/words.h"
#include "daemon/log/journal.h"
#include "daemon/log/outbox.h"
#include "daemon/log/stderr_text.h"
#include "exposition/collected_family.h"
#include "exposition/self_families.h"

namespace pex::daemon {
namespace {

constexpr std::chrono::minutes kRepeatAfter{1};
constexpr std::size_t kMaxRemembered = 1024;

/// In the order of LogLevel, as the ecosystem spells them; spdlog's own says "warning".
constexpr const char* kLevels[] = {"debug", "info", "warn", "error"};

/// Lines that wait for a reader, at most.
constexpr std::size_t kMaxLines = 4096;
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
constexpr std::size_t kBytesOfALine = 128;  ///< in addition to its text

/// Escapes valid in JSON and understood by logfmt readers. Paths may hold any bytes.
std::string in_quotes(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + printable(escaped) + '"';
}

/// logfmt needs quotes only around what would otherwise end the value.
std::string logfmt_value(std::string_view text) {
  const bool is_plain = !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos;
  const std::string shown = printable(text);
  return is_plain && shown == as_utf8(text) ? shown : in_quotes(text);
}

/// logfmt has no quotes for keys.
std::string logfmt_key(std::string_view key) {
  std::string plain{key};
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return c <= ' ' || c > '~' || c == '=' || c == '"'; }, '_');
  return plain;
}

LogFields with_errno(LogFields fields, const Error& error) {
  if (error.code != 0) fields.push_back({"errno", std::to_string(error.code)});
  return fields;
}

}  // namespace

std::string format_line(LogFormat format, LogLevel level, std::string_view message,
                        const LogFields& fields) {
  const bool json = format == LogFormat::kJson;
  const std::string name = kLevels[static_cast<std::size_t>(level)];
  std::string line = json ? "\"level\":\"" + name + "\",\"msg\":" : "level=" + name + " msg=";
  line += in_quotes(message);
  if (!json) return line + logfmt_pairs(fields);
  for (const auto& [key, value] : fields) line += "," + in_quotes(key) + ":" + in_quotes(value);
  return line;
}

std::string logfmt_pairs(const LogFields& fields) {
  std::string pairs;
  for (const auto& [key, value] : fields)
    pairs += " " + logfmt_key(key) + "=" + logfmt_value(value);
  return pairs;
}

/// The state of the log's thread in addition to the loop's. Only that thread formats lines.
struct Log::Sink {
  using Clock = std::chrono::system_clock;

  struct Entry {
    Clock::time_point at;
    LogLevel level;
    std::string message;
    LogFields fields;
    std::uint64_t drops_before;  ///< lines dropped between the previous line and this one

    std::size_t bytes() const {
      std::size_t bytes = kBytesOfALine + message.size();
      for (const auto& [key, value] : fields) bytes += key.size() + value.size();
      return bytes;
    }
  };

  Sink(LogLevel its_lowest, LogFormat its_format)
      : lowest(its_lowest),
        format(its_format),
        to_journal(format == LogFormat::kLogfmt && stderr_is_journal()),
        formatter(format == LogFormat::kJson ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ",%v})"
                                             : "ts=%Y-%m-%dT%H:%M:%S.%eZ %v",
                  spdlog::pattern_time_type::utc) {}

  std::string line_of(const Entry& entry) {
    const std::string text = format_line(format, entry.level, entry.message, entry.fields);
    spdlog::memory_buf_t line;
    formatter.format({entry.at, {}, "", spdlog::level::info, text}, line);
    return {line.data(), line.size()};
  }

  bool write(const Entry& entry) {
    const bool is_taken =
        to_journal && send_to_journal(journal_fields(entry.level, entry.message, entry.fields));
    return is_taken || write_to_stderr(line_of(entry));
  }

  void report_drops(std::uint64_t lines, Clock::time_point at) {
    if (lines == 0) return;
    const Entry entry{
        at,
        LogLevel::kWarn,
        "log lines are missing here, because stderr or the journal did not accept them in time",
        {{"lines", std::to_string(lines)}},
        0};
    if (!write(entry)) unreported_drops += lines;
  }

  void count_dropped(std::uint64_t before) {
    ++dropped;
    unreported_drops += before + 1;
  }

  void take(const Entry& entry) {
    report_drops(entry.drops_before, entry.at);
    if (!write(entry)) count_dropped(0);
    waiting_bytes -= entry.bytes();
    if (--waiting == 0) report_drops(unreported_drops.exchange(0), Clock::now());
  }

  const LogLevel lowest;
  const LogFormat format;
  const bool to_journal;  ///< and to stderr if the journal refuses an entry
  spdlog::pattern_formatter formatter;
  std::atomic<std::size_t> waiting = 0;
  std::atomic<std::size_t> waiting_bytes = 0;
  std::atomic<std::uint64_t> dropped = 0;
  std::atomic<std::uint64_t> unreported_drops = 0;  ///< not reported by a line yet
};

Log::Log(LogLevel lowest, LogFormat format) : sink_(std::make_shared<Sink>(lowest, format)) {
  Result<std::unique_ptr<Outbox>> outbox = Outbox::create("log", kMaxLines);
  if (outbox) {
    outbox_ = std::move(*outbox);
  } else {
    error(outbox.error());
  }
}

Log::~Log() = default;

std::uint64_t Log::dropped() const { return sink_->dropped; }

bool Log::is_on(LogLevel level) const { return level >= sink_->lowest; }

std::vector<prometheus::MetricFamily> Log::Collect() const {
  if (dropped() == 0) return {};
  return {exposition::collected(
      exposition::self_family("perf_event_exporter_log_messages_dropped_total"),
      static_cast<double>(dropped()))};
}

void Log::write(LogLevel level, std::string_view message, LogFields fields) {
  if (!is_on(level)) return;
  Sink::Entry entry{Sink::Clock::now(), level, std::string(message), std::move(fields),
                    sink_->unreported_drops.exchange(0)};
  const std::uint64_t before = entry.drops_before;
  bool is_taken = false;
  if (outbox_) {
    const std::size_t bytes = entry.bytes();
    ++sink_->waiting;
    const bool fits = (sink_->waiting_bytes += bytes) <= kMaxBytes;
    is_taken =
        fits && outbox_->post([sink = sink_, entry = std::move(entry)] { sink->take(entry); });
    if (!is_taken) {
      sink_->waiting_bytes -= bytes;
      --sink_->waiting;
    }
  } else {
    is_taken = write_to_stderr_within(std::chrono::milliseconds{0}, sink_->line_of(entry));
  }
  if (!is_taken) sink_->count_dropped(before);
}

void Log::debug(std::string_view message, const LogFields& fields) {
  write(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, const LogFields& fields) {
  write(LogLevel::kInfo, message, fields);
}
void Log::warn(std::string_view message, const LogFields& fields) {
  write(LogLevel::kWarn, message, fields);
}
void Log::error(std::string_view message, const LogFields& fields) {
  write(LogLevel::kError, message, fields);
}

void Log::warn(const Error& error, LogFields fields) {
  write(LogLevel::kWarn, worded(error), with_errno(std::move(fields), error));
}
void Log::error(const Error& error, LogFields fields) {
  write(LogLevel::kError, worded(error), with_errno(std::move(fields), error));
}

bool LogThrottle::passes(const std::string& message, Clock::time_point now) {
  std::erase_if(passed_, [now](const auto& entry) { return now - entry.second >= kRepeatAfter; });
  if (passed_.contains(message) || passed_.size() >= kMaxRemembered) return false;
  passed_.emplace(message, now);
  return true;
}

}  // namespace pex::daemon
