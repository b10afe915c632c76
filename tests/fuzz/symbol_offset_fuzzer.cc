#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "elf/symbol_offset.h"
#include "fuzz/fuzzing.h"

using pex::fuzz::require;

/// Any file gives an offset or an error that says what to do.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const pex::UniqueFd file{::memfd_create("program", MFD_CLOEXEC)};
  require(file && ::write(file.get(), data, size) == static_cast<ssize_t>(size));

  for (const char* symbol : {"main", "d", "_start_of_something"}) {
    const auto offset =
        pex::elf::symbol_offset("/proc/self/fd/" + std::to_string(file.get()), symbol);

    require(offset || (offset.error().code != 0 && !offset.error().attempted.empty() &&
                       !offset.error().remedy.empty()));
  }
  return 0;
}
