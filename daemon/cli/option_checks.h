#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/cli/options.h"

namespace pex::daemon {

// Checks of what the command line says. Each error is a sentence without its full stop, with its
// remedy; it is empty, or nothing, where there is none.

/// For an address to listen on.
std::string address_error(const std::string& address);

/// For what a web configuration must have.
std::string requirement_error(const std::string& protection);

/// For an option without its value.
std::string missing_value(const std::string& name, const std::string& type);

/// For the path that an option names. An empty one would be as if the option had not been given,
/// without TLS and logins for example, and one that begins with "--" is most probably the next
/// option.
std::string path_error(const std::string& path, const std::string& name, const std::string& type);

/// The whole of `text` as a decimal number from `min` to `max`.
std::optional<std::uint64_t> number_within(std::string_view text, std::uint64_t min,
                                           std::uint64_t max);

/// For --path.*, where the program has rights that its user does not have: what is read there
/// decides which events are opened.
std::optional<std::string> trust_error(const host::HostRoots& roots);

/// For a combination of options that no run can follow. `command` is the subcommand; empty: none.
std::optional<std::string> combination_error(const Options& options, const std::string& command);

}  // namespace pex::daemon
