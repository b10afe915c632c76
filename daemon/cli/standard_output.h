#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cli/options.h"

namespace pex::daemon {

/// Writes what is left of std::cout. False if a part of it could not be written, as on a full disk;
/// then stderr has one line with the reason. A reader of a pipe that has left, as in `list | head`,
/// has what it wants.
bool flush_output();

/// Writes them to stderr, each as one line.
void print_errors(const std::vector<Error>& errors);
/// The same with the program's name, for the end of a command. Returns kFailed.
ExitStatus fail(const Error& error);

/// For root, who may read files and open events that the service may not: that `command` answers
/// for root, and below systemd how to ask for the service.
void print_note_for_root(const std::string& command, const Options& options);

}  // namespace pex::daemon
