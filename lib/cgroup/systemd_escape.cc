#include "cgroup/systemd_escape.h"

#include <charconv>

namespace pex::cgroup {
namespace {

/// The byte that `text` starts with in the form \xNN; 0 when it does not.
char escaped_byte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("\\x")) return 0;
  unsigned char byte = 0;
  const char* const end = text.data() + 4;
  return std::from_chars(text.data() + 2, end, byte, 16).ptr == end ? static_cast<char>(byte) : 0;
}

}  // namespace

std::string systemd_unescape(std::string_view name) {
  std::string plain;
  plain.reserve(name.size());
  while (!name.empty()) {
    const char byte = escaped_byte(name);
    plain += byte != 0 ? byte : name.front();
    name.remove_prefix(byte != 0 ? 4 : 1);
  }
  return plain;
}

}  // namespace pex::cgroup
