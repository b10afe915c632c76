#include "daemon/cli/option_checks.h"

#include <sys/un.h>

#include <algorithm>
#include <vector>

#include "access/web_protections.h"
#include "base/text.h"
#include "host/self_process.h"
#include "host/trusted_path.h"
#include "http/address.h"

namespace pex::daemon {
namespace {

/// An absolute path that fits into an address, with its final 0: unix(7).
bool is_socket_path(std::string_view path) {
  return path.starts_with('/') && path.size() < sizeof(sockaddr_un::sun_path);
}

/// The kernel chooses another port each time.
bool has_any_port(const std::string& address) {
  const std::optional<http::HostAndPort> parsed = http::parse_address(address);
  return parsed && parsed->port == 0;
}

/// Each of them ends the program when it is done.
std::optional<std::string> error_of_commands(const Options& options, const std::string& command) {
  std::vector<std::string> given;
  if (options.check_config) given.emplace_back("--config.check");
  if (options.once) given.emplace_back("--once");
  if (!command.empty()) given.push_back(command);
  if (given.size() < 2) return {};
  return join(given, " and ") + " cannot be used together. Remedy: write one of them at a time";
}

std::optional<std::string> error_of_addresses(const std::vector<std::string>& addresses) {
  for (auto each = addresses.begin(); each != addresses.end(); ++each) {
    if (std::find(addresses.begin(), each, *each) == each || has_any_port(*each)) continue;
    return "--web.listen-address: '" + *each + "' is given twice. Remedy: remove one of the two";
  }
  return {};
}

/// `stat` has either a process or a command.
std::optional<std::string> error_of_stat(const Options& options, const std::string& command) {
  const bool has_command = !options.stat_command.empty();
  if (!options.stat && has_command) {
    return std::string("arguments after '--', which only stat has. Remedy: ") +
           (command.empty() ? "write 'stat -- COMMAND'" : "remove '--'");
  }
  if (!options.stat || has_command != (options.stat_pid != 0)) return {};
  return has_command
             ? "stat counts either a process or a command. Remedy: remove -p, or the command"
             : "stat has nothing to count. Remedy: write -p PID, or -- and a command";
}

}  // namespace

std::string address_error(const std::string& address) {
  if (address.starts_with(http::kUnix)) {
    if (is_socket_path(std::string_view(address).substr(http::kUnix.size()))) return {};
    return "'" + address +
           "' is not an address. Remedy: write unix: and an absolute path of at most 107 bytes, "
           "for example unix:/run/perf_event_exporter/socket";
  }
  if (http::parse_address(address)) return {};
  return "'" + address +
         "' is not an address. Remedy: write host:port, :port, [IPv6]:port or unix:/path, for "
         "example 127.0.0.1:" +
         std::to_string(kDefaultPort);
}

std::string requirement_error(const std::string& protection) {
  std::vector<std::string> names;
  for (const access::Requirement& each : access::requirable()) names.emplace_back(each.name);
  if (std::find(names.begin(), names.end(), protection) != names.end()) return {};
  return "'" + protection + "' is not a protection. Remedy: write one of " + join(names);
}

std::string missing_value(const std::string& name, const std::string& type) {
  return "the value is missing. Remedy: write " + name + "=" + type + ", or leave the option out";
}

std::string path_error(const std::string& path, const std::string& name, const std::string& type) {
  if (path.empty()) return missing_value(name, type);
  if (!path.starts_with("--")) return {};
  return "'" + path + "' begins like an option. Remedy: write " + name + "=" + type +
         ", or leave the option out; write ./ before such a path";
}

std::optional<std::uint64_t> number_within(std::string_view text, std::uint64_t min,
                                           std::uint64_t max) {
  const std::optional<std::uint64_t> number = parse_unsigned(text);
  return number && *number >= min && *number <= max ? number : std::nullopt;
}

std::optional<std::string> trust_error(const host::HostRoots& roots) {
  if (!host::has_rights_by_its_file()) return {};
  const host::HostRoots defaults;
  for (const auto& [root, of_kernel] : {std::pair{roots.sysfs, defaults.sysfs},
                                        {roots.procfs, defaults.procfs},
                                        {roots.cgroupfs, defaults.cgroupfs}}) {
    if (root == of_kernel || host::is_trusted_path(root)) continue;
    return "'" + root +
           "' can be changed by others than root, and this program has a capability by its file. "
           "Remedy: name a directory of root, or run it as root";
  }
  return {};
}

std::optional<std::string> combination_error(const Options& options, const std::string& command) {
  if (auto error = trust_error(options.roots)) return error;
  if (auto error = error_of_commands(options, command)) return error;
  if (auto error = error_of_stat(options, command)) return error;
  return error_of_addresses(options.listen_addresses);
}

}  // namespace pex::daemon
