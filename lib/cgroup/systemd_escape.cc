#include "cgroup/systemd_escape.h"

namespace pex::cgroup {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte that `text` starts with in the form \xNN; 0 when it does not.
char escaped_byte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("\\x")) return 0;
  const int high = hex_value(text[2]);
  const int low = hex_value(text[3]);
  return high < 0 || low < 0 ? '\0' : static_cast<char>(high * 16 + low);
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
