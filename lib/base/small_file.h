#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace pex {

/// The whole content of one file. Fails with EFBIG beyond `max_bytes`, with EISDIR for a directory,
/// else with open's or read's errno. Works for files of sysfs and procfs, which do not know their
/// size before they are read.
Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes = 64 * 1024);

/// `text` without its last line break, if it has one; sysfs ends every value with it.
std::string without_final_newline(std::string text);

}  // namespace pex
