#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pex::perf {

/// Where the function `symbol` begins in the program or library `file`, in bytes from the file's
/// begin: what a uprobe is given. Of several functions of that name a global one, else the first.
/// Fails with open's errno, with ENOEXEC when the file is not ELF, and with ENOENT when it has no
/// such function: because it is stripped, or because it only calls it, from a library.
Result<std::uint64_t> symbol_offset(const std::string& file, const std::string& symbol);

}  // namespace pex::perf
