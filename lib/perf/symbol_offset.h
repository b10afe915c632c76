#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pex::perf {

/// Where the function `symbol` begins in the program or library `file`, in bytes from the file's
/// begin: what a uprobe is given. Of several functions of that name a global one, else the first.
/// Fails with open's errno, with ENOEXEC when it is not a regular file of ELF, with EFBIG when it
/// has more symbols than are searched (16 million, or 1 GB of names), and with ENOENT when it has
/// no such function: because it is stripped, or because it only calls it, from a library. Nobody
/// needs to vouch for the file: it takes a few MB of memory (20 MB when the name ends millions of
/// others), and each table of symbols is read twice at most.
Result<std::uint64_t> symbol_offset(const std::string& file, const std::string& symbol);

}  // namespace pex::perf
