#include "daemon/log/journal.h"

#define SD_JOURNAL_SUPPRESS_LOCATION  // ours would always be this file
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "base/utf8.h"
#include "daemon/cli/version.h"

namespace pex::daemon {
namespace {

/// The socket for entries with fields. A service with its own root directory may not see it, and
/// then sd_journal_sendv(3) silently does nothing.
constexpr const char* kSocket = "/run/systemd/journal/socket";
constexpr std::size_t kMaxName = 64;  ///< the journal drops fields of longer ones

/// In the order of LogLevel.
constexpr int kPriorities[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};

std::string field_name(std::string_view key) {
  if (key == "errno") return "ERRNO";
  std::string name = "PERF_";
  for (const char c : key.substr(0, kMaxName - name.size())) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return name;
}

}  // namespace

bool names_file(std::string_view journal_stream, dev_t device, ino_t inode) {
  return journal_stream == std::to_string(device) + ":" + std::to_string(inode);
}

bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat file {};
  return stream != nullptr && ::fstat(STDERR_FILENO, &file) == 0 &&
         names_file(stream, file.st_dev, file.st_ino) && ::access(kSocket, W_OK) == 0;
}

std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        const LogFields& fields) {
  std::vector<std::string> entry = {
      "MESSAGE=" + printable(message) + logfmt_pairs(fields),
      "PRIORITY=" + std::to_string(kPriorities[static_cast<std::size_t>(level)]),
      std::string("SYSLOG_IDENTIFIER=").append(kProgram)};
  for (const auto& [key, value] : fields) entry.push_back(field_name(key) + "=" + printable(value));
  return entry;
}

bool send_to_journal(const std::vector<std::string>& fields) {
  std::vector<iovec> parts;
  parts.reserve(fields.size());
  for (const std::string& field : fields) {
    parts.push_back({const_cast<char*>(field.data()), field.size()});  // it is only read
  }
  // Where there is no socket, sd_journal_sendv(3) does nothing and reports no error.
  return ::access(kSocket, W_OK) == 0 &&
         ::sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

}  // namespace pex::daemon
