#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/log/logging.h"

namespace pex::daemon {

/// Whether `journal_stream`, which is "DEVICE:INODE" in decimal (systemd.exec(5), $JOURNAL_STREAM),
/// names the file of this device and inode. False for anything else that it may be.
bool names_file(std::string_view journal_stream, dev_t device, ino_t inode);

/// Whether what is written to stderr lands in the journal, and entries with fields would as well.
/// The environment alone does not tell: it is inherited by programs whose stderr goes elsewhere.
bool stderr_is_journal();

/// The fields of one entry, "NAME=value" each: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, and one for
/// each of `fields`: PERF_CGROUP for "cgroup", and so on; but ERRNO for "errno", as the journal
/// calls it itself. The message holds them as well, as most readers show nothing else.
std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        const LogFields& fields);

/// After stderr_is_journal(). False when the journal did not take it.
bool send_to_journal(const std::vector<std::string>& fields);

}  // namespace pex::daemon
