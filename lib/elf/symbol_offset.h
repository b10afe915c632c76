#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pex::elf {

/// Where the function `symbol` begins in the program or library `file`, in bytes from the file's
/// begin: what a uprobe is given. Of several functions of that name a global one, else the first.
/// Fails as open_regular_file() does, with ENOEXEC when it is not ELF, with EFBIG when it has more
/// symbols than are searched (16 million, 1 GB of names, or 4 million names that end with
/// `symbol`), and with ENOENT when it has no such function: because it is stripped, or because it
/// only calls it, from a library. Nobody needs to vouch for the file: whatever it is, this takes at
/// most about 20 MB of memory and some seconds, and reads each table of symbols twice at most.
Result<std::uint64_t> symbol_offset(const std::string& file, const std::string& symbol);

}  // namespace pex::elf
