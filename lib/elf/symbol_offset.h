#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pex::elf {

/// The offset of the function `symbol` in the program or library `file`, in bytes from its
/// beginning: the address of a uprobe. Of several functions of that name a global one, of the
/// version that programs are linked with today (`name@@VERSION` of nm), else an older version, else
/// the first. Fails as open_regular_file() does, with ENOEXEC if it is not ELF, with EFBIG if it
/// has more symbols than are searched (16 million, 1 GB of names, or 4 million names that end with
/// `symbol`), and with ENOENT if it has no such function: because it is stripped, because it
/// only calls it, from a library, or because this one is chosen when a program is loaded
/// (STT_GNU_IFUNC): an older version of that name is not what programs call. The file need not be
/// trusted: in any case this takes at most about 20 MB of memory and some seconds, and reads each
/// table of symbols at most twice.
Result<std::uint64_t> symbol_offset(const std::string& file, const std::string& symbol);

/// Whether a function begins at this offset in the file. Fails as symbol_offset() does where that
/// opens and reads it.
Result<bool> begins_function(const std::string& file, std::uint64_t offset);

}  // namespace pex::elf
