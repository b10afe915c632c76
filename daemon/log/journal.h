#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/log/logging.h"

namespace pex::daemon {

/// Whether `journal_stream`, "DEVICE:INODE" in decimal (systemd.exec(5), $JOURNAL_STREAM), names
/// the file with this device and inode. False for any other text.
bool names_file(std::string_view journal_stream, dev_t device, ino_t inode);

/// Whether stderr is connected to the journal, and entries with fields reach it too. The
/// environment variable alone is not enough: programs inherit it even if their stderr goes
/// elsewhere.
bool stderr_is_journal();

/// The fields of one entry, "NAME=value" each: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, and one for
/// each of `fields`: PERF_CGROUP for "cgroup", and so on; but ERRNO for "errno", as the journal
/// calls it itself. The message holds them as well, as most readers show nothing else.
std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        const LogFields& fields);

/// After stderr_is_journal(). False when the journal did not take it.
bool send_to_journal(const std::vector<std::string>& fields);

}  // namespace pex::daemon
