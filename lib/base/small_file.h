#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex {

/// Opens a regular file for reading without ever blocking: a FIFO, socket or device is refused with
/// EINVAL and a message that names its kind, a directory with EISDIR, a file on which another
/// process has a lease with EAGAIN. `noun` describes the file in messages: "the configuration";
/// with one, a file that has been replaced behind its mount (st_nlink is 0) is refused with code 0,
/// from Linux 5.8 on, which says what is a mount (statx(2)).
Result<UniqueFd> open_regular_file(const std::string& path, std::string_view noun = {});

/// The whole content of one regular file. Fails as open_regular_file does, with EFBIG beyond
/// `max_bytes`, else with open's or read's errno. Works for files of sysfs and procfs, whose size
/// is unknown before they are read. With a `noun`, it is read twice, and refused with code 0 if
/// that differs: a program is writing to it, and it may be half of each version.
Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes = 64 * 1024,
                                    std::string_view noun = {});

/// `text` without its last line break, if it has one; sysfs ends every value with one.
std::string without_final_newline(std::string text);

}  // namespace pex
