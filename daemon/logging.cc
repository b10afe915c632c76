#include "daemon/logging.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <cstdio>

#include "base/utf8.h"
#include "daemon/journal.h"

namespace pex::daemon {
namespace {

constexpr std::chrono::minutes kRepeatAfter{1};
constexpr std::size_t kMostRemembered = 1024;

struct LevelRow {
  const char* name;  ///< as the ecosystem spells it; spdlog's own says "warning"
  spdlog::level::level_enum level;
};
/// In the order of LogLevel.
constexpr LevelRow kLevels[] = {{"debug", spdlog::level::debug},
                                {"info", spdlog::level::info},
                                {"warn", spdlog::level::warn},
                                {"error", spdlog::level::err}};

/// Escapes valid in JSON and understood by logfmt readers. Paths may hold any bytes.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : as_utf8(text)) {
    if (c == '"' || c == '\\') {
      (result += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// logfmt needs quotes only around what would otherwise end the value.
std::string logfmt_value(std::string_view text) {
  const bool plain =
      !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos &&
      text.find_first_of(std::string_view("\t\n\r\0\x7f", 5)) == std::string_view::npos;
  return plain ? as_utf8(text) : quoted(text);
}

LogFields with_errno(LogFields fields, const Error& error) {
  if (error.code != 0) fields.push_back({"errno", std::to_string(error.code)});
  return fields;
}

}  // namespace

std::string format_line(LogFormat format, LogLevel level, std::string_view message,
                        const LogFields& fields) {
  const bool json = format == LogFormat::kJson;
  const std::string name = kLevels[static_cast<std::size_t>(level)].name;
  std::string line = json ? "\"level\":\"" + name + "\",\"msg\":" : "level=" + name + " msg=";
  line += quoted(message);
  if (!json) return line + logfmt_pairs(fields);
  for (const auto& [key, value] : fields) line += ",\"" + std::string(key) + "\":" + quoted(value);
  return line;
}

std::string logfmt_pairs(const LogFields& fields) {
  std::string pairs;
  for (const auto& [key, value] : fields)
    pairs += " " + std::string(key) + "=" + logfmt_value(value);
  return pairs;
}

struct Log::Sink {
  LogFormat format;
  spdlog::logger logger;
  bool to_journal;  ///< and to stderr what the journal does not take

  void write(LogLevel level, std::string_view message, const LogFields& fields) {
    const spdlog::level::level_enum spdlog_level = kLevels[static_cast<std::size_t>(level)].level;
    if (!logger.should_log(spdlog_level)) return;
    if (to_journal && send_to_journal(journal_fields(level, message, fields))) return;
    logger.log(spdlog_level, spdlog::string_view_t(format_line(format, level, message, fields)));
  }
};

Log::Log(LogLevel lowest, LogFormat format)
    : sink_(new Sink{format, spdlog::logger("", std::make_shared<spdlog::sinks::stderr_sink_mt>()),
                     format == LogFormat::kLogfmt && stderr_is_journal()}) {
  sink_->logger.set_level(kLevels[static_cast<std::size_t>(lowest)].level);
  const char* pattern = format == LogFormat::kJson ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ",%v})"
                                                   : "ts=%Y-%m-%dT%H:%M:%S.%eZ %v";
  sink_->logger.set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
}

Log::~Log() = default;

void Log::debug(std::string_view message, const LogFields& fields) {
  sink_->write(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, const LogFields& fields) {
  sink_->write(LogLevel::kInfo, message, fields);
}
void Log::warn(std::string_view message, const LogFields& fields) {
  sink_->write(LogLevel::kWarn, message, fields);
}
void Log::error(std::string_view message, const LogFields& fields) {
  sink_->write(LogLevel::kError, message, fields);
}

void Log::warn(const Error& error, LogFields fields) {
  sink_->write(LogLevel::kWarn, describe(error), with_errno(std::move(fields), error));
}
void Log::error(const Error& error, LogFields fields) {
  sink_->write(LogLevel::kError, describe(error), with_errno(std::move(fields), error));
}

bool OncePerMinute::passes(const std::string& message, Clock::time_point now) {
  std::erase_if(passed_, [now](const auto& entry) { return now - entry.second >= kRepeatAfter; });
  if (passed_.contains(message) || passed_.size() >= kMostRemembered) return false;
  passed_.emplace(message, now);
  return true;
}

}  // namespace pex::daemon
