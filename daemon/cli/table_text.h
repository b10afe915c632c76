#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace pex::daemon {

/// `text` padded to a column of `width`, with a blank behind it in any case.
std::string column(std::string text, std::size_t width);

/// "yes", "no (ENOENT)", or "no" where no system call said so.
std::string yes_or_no(bool available, const Error& reason);

}  // namespace pex::daemon
