#include "host/permissions.h"

#include <sys/resource.h>

#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/lookup.h"
#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

constexpr const char* kOwnStatus = "/proc/self/status";

struct CapabilityEntry {
  Capability capability;
  std::string_view name;
};
constexpr CapabilityEntry kCapabilityRows[] = {
    {Capability::kPerfmon, "CAP_PERFMON"},
    {Capability::kSysAdmin, "CAP_SYS_ADMIN"},
    {Capability::kDacReadSearch, "CAP_DAC_READ_SEARCH"},
};

/// The whole of `text` as a number, which may be negative.
template <typename Number>
std::optional<Number> number_in(std::string_view text, int base) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number, base);
  if (code != std::errc{} || rest != end) return {};
  return number;
}

/// The value of "key:" at the beginning of a line, without surrounding blanks.
std::optional<std::string_view> field(std::string_view status, std::string_view key) {
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(':')) {
      return trim(line.substr(key.size() + 1));
    }
  }
  return {};
}

/// Four numbers: the real, effective, saved and file system user.
std::optional<std::uint64_t> effective_user(std::string_view status) {
  const std::optional<std::string_view> users = field(status, "Uid");
  if (!users) return {};
  const std::vector<std::string_view> numbers = split(*users, '\t');
  return numbers.size() < 2 ? std::nullopt : parse_unsigned(numbers[1]);
}

std::optional<CapabilitySet> capabilities(std::string_view status, std::string_view key) {
  const std::optional<std::string_view> mask = field(status, key);
  const auto bits = mask ? number_in<std::uint64_t>(*mask, 16) : std::nullopt;
  return bits ? std::optional(CapabilitySet{*bits}) : std::nullopt;
}

std::optional<Seccomp> seccomp(std::string_view status) {
  static constexpr Seccomp kModes[] = {Seccomp::kOff, Seccomp::kStrict, Seccomp::kFilter};
  const std::optional<std::uint64_t> mode = parse_unsigned(field(status, "Seccomp").value_or(""));
  return mode && *mode < std::size(kModes) ? std::optional(kModes[*mode]) : std::nullopt;
}

std::optional<bool> flag(std::string_view status, std::string_view key) {
  const std::optional<std::string_view> text = field(status, key);
  return text == "0" || text == "1" ? std::optional(text == "1") : std::nullopt;
}

}  // namespace

std::string_view name_of(Capability capability) {
  return lookup(kCapabilityRows, &CapabilityEntry::capability, capability)->name;
}

Permissions parse_permissions(std::string_view status) {
  return {effective_user(status),
          capabilities(status, "CapEff"),
          capabilities(status, "CapPrm"),
          capabilities(status, "CapBnd"),
          seccomp(status),
          flag(status, "NoNewPrivs")};
}

Permissions own_permissions() {
  const Result<std::string> status = read_small_file(kOwnStatus);
  return status ? parse_permissions(*status) : Permissions{};
}

FileLimit own_file_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur, limit.rlim_max};
}

Result<std::int64_t> read_number_file(const std::string& file) {
  const Result<std::string> text = read_small_file(file);
  if (!text) return text.error();
  const auto number = number_in<std::int64_t>(without_final_newline(*text), 10);
  if (!number) return Error{EINVAL, "read '" + file + "' as a number", {}};
  return *number;
}

Result<std::int64_t> read_sysctl(const HostRoots& roots, const std::string& name) {
  return read_number_file(roots.sysctl(name));
}

}  // namespace pex::host
