#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace pex::daemon {

/// `text` padded to a column of `width`, followed by at least one blank.
std::string column(std::string text, std::size_t width);

/// "0.98"
std::string with_decimals(double number, int decimals);

/// "yes", "no (ENOENT)", or "no" for an error without an errno.
std::string yes_or_no(bool available, const Error& reason);

}  // namespace pex::daemon
