#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace pex {

/// The names in a directory, without "." and "..", in rising order; at most the first `most` that
/// the kernel lists. Fails with the errno of opening or reading it.
Result<std::vector<std::string>> list_directory(const std::string& path, std::size_t most);

}  // namespace pex
