#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::elf {

/// The tables of an untrusted ELF file. libelf decodes the entries (class and byte order); the file
/// is read here, in blocks of 64 kB: libelf allocates what a header claims, up to the size of the
/// file, and a sparse file of 100 GB is easily made. It is not mapped, as truncating the file
/// meanwhile would end the program by SIGBUS. Unreadable data end a table. Entries of 32-bit files
/// are converted to those of 64 bits.
class ElfFile {
 public:
  /// Fails as open_regular_file() does, and with ENOEXEC if `path` is not an ELF file.
  static Result<ElfFile> open(const std::string& path);

  /// The first section of that type: a file has one table of symbols of each kind.
  std::optional<Elf64_Shdr> section_of_type(Elf64_Word type) const;
  std::optional<Elf64_Shdr> section(std::uint64_t index) const;

  /// Visits each entry, until `visit` returns false.
  void visit_symbols(const Elf64_Shdr& table,
                     const std::function<bool(const Elf64_Sym& symbol)>& visit) const;
  /// Of a symbol, by its number in its table: an entry of SHT_GNU_versym, which has one for each.
  std::optional<Elf64_Versym> version(const Elf64_Shdr& versions, std::uint64_t symbol) const;
  void visit_segments(const std::function<bool(const Elf64_Phdr& segment)>& visit) const;

  /// The content of a section: consecutive blocks of at most 64 kB, with the offset of each in the
  /// section.
  void visit_bytes(
      const Elf64_Shdr& section,
      const std::function<bool(std::uint64_t at, std::string_view bytes)>& visit) const;

 private:
  ElfFile(UniqueFd fd, const unsigned char* ident, const Elf64_Ehdr& header);

  template <typename Entry>
  void visit_entries(std::uint64_t offset, std::uint64_t count, std::uint64_t bytes_each,
                     const std::function<bool(const Entry&)>& visit) const;
  std::uint64_t count_sections() const;
  std::uint64_t count_segments() const;

  UniqueFd fd_;
  bool is_64_bit_;
  unsigned encoding_;  ///< ELFDATA2LSB or ELFDATA2MSB
  Elf64_Ehdr header_;
};

}  // namespace pex::elf
