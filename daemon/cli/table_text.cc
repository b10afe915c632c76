#include "daemon/cli/table_text.h"

#include <algorithm>

namespace pex::daemon {

std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string yes_or_no(bool available, const Error& reason) {
  if (available) return "yes";
  return reason.code == 0 ? "no" : "no (" + errno_name(reason.code) + ")";
}

}  // namespace pex::daemon
