#include "elf/elf_file.h"

#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/small_file.h"

namespace pex::elf {
namespace {

constexpr std::size_t kBlock = 64 * 1024;
constexpr const char* kNameAProgram = "name a program or a shared library";

// Far more than linked programs have. Bounds the reading that a header can cause.
constexpr std::uint64_t kMaxSections = 1 << 20;
constexpr std::uint64_t kMaxSegments = 1 << 16;

/// The 32-bit entry for each 64-bit one, and libelf's type for both.
template <typename NarrowEntry, Elf_Type type>
struct EntryKind {
  using Narrow = NarrowEntry;
  static constexpr Elf_Type kType = type;
};
template <typename Wide>
struct Kind;
template <>
struct Kind<Elf64_Ehdr> : EntryKind<Elf32_Ehdr, ELF_T_EHDR> {};
template <>
struct Kind<Elf64_Shdr> : EntryKind<Elf32_Shdr, ELF_T_SHDR> {};
template <>
struct Kind<Elf64_Phdr> : EntryKind<Elf32_Phdr, ELF_T_PHDR> {};
template <>
struct Kind<Elf64_Sym> : EntryKind<Elf32_Sym, ELF_T_SYM> {};

template <typename Wide>
const Wide& widened(const Wide& entry) {
  return entry;
}
Elf64_Ehdr widened(const Elf32_Ehdr& header) {
  Elf64_Ehdr wide{};
  wide.e_phoff = header.e_phoff;
  wide.e_shoff = header.e_shoff;
  wide.e_phentsize = header.e_phentsize;
  wide.e_phnum = header.e_phnum;
  wide.e_shentsize = header.e_shentsize;
  wide.e_shnum = header.e_shnum;
  return wide;
}
Elf64_Shdr widened(const Elf32_Shdr& section) {
  return {section.sh_name,      section.sh_type,   section.sh_flags, section.sh_addr,
          section.sh_offset,    section.sh_size,   section.sh_link,  section.sh_info,
          section.sh_addralign, section.sh_entsize};
}
Elf64_Phdr widened(const Elf32_Phdr& segment) {
  return {segment.p_type,  segment.p_flags,  segment.p_offset, segment.p_vaddr,
          segment.p_paddr, segment.p_filesz, segment.p_memsz,  segment.p_align};
}
Elf64_Sym widened(const Elf32_Sym& symbol) {
  return {symbol.st_name,  symbol.st_info,  symbol.st_other,
          symbol.st_shndx, symbol.st_value, symbol.st_size};
}

/// The part of `bytes` that could be read: less at the end of the file.
std::size_t read_at(int fd, std::uint64_t offset, char* place, std::size_t bytes) {
  constexpr std::uint64_t kEnd = std::numeric_limits<off_t>::max();
  if (offset > kEnd || kEnd - offset < bytes) return 0;
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t more = ::pread(fd, place + got, bytes - got, static_cast<off_t>(offset + got));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  return got;
}

/// Converts from the file's byte order to ours. `Stored` is `Wide` or its narrow counterpart.
template <typename Wide, typename Stored>
void decode(std::vector<Stored>& entries, unsigned encoding) {
  Elf_Data data{};
  data.d_buf = entries.data();
  data.d_size = entries.size() * sizeof(Stored);
  data.d_type = Kind<Wide>::kType;
  data.d_version = EV_CURRENT;
  (void)(std::is_same_v<Stored, Wide> ? ::elf64_xlatetom(&data, &data, encoding)
                                      : ::elf32_xlatetom(&data, &data, encoding));
}

template <typename Wide, typename Stored>
void visit_stored(int fd, unsigned encoding, std::uint64_t offset, std::uint64_t count,
                  const std::function<bool(const Wide&)>& visit) {
  constexpr std::size_t kAtOnce = kBlock / sizeof(Stored);
  std::vector<Stored> entries;
  while (count > 0) {
    entries.resize(static_cast<std::size_t>(std::min<std::uint64_t>(count, kAtOnce)));
    const std::size_t bytes = entries.size() * sizeof(Stored);
    const std::size_t got = read_at(fd, offset, reinterpret_cast<char*>(entries.data()), bytes);
    entries.resize(got / sizeof(Stored));
    decode<Wide>(entries, encoding);
    for (const Stored& entry : entries) {
      if (!visit(widened(entry))) return;
    }
    if (got < bytes) return;
    count -= entries.size();
    offset += bytes;
  }
}

}  // namespace

Result<ElfFile> ElfFile::open(const std::string& path) {
  Result<UniqueFd> fd = open_regular_file(path);
  if (!fd) {
    const bool is_irregular = fd.error().code == EINVAL || fd.error().code == EISDIR;
    return Error{fd.error().code, fd.error().attempted,
                 is_irregular ? kNameAProgram : fd.error().remedy};
  }
  const Error unknown{ENOEXEC, "read '" + path + "'", kNameAProgram};
  unsigned char ident[EI_NIDENT];
  if (read_at(fd->get(), 0, reinterpret_cast<char*>(ident), sizeof ident) != sizeof ident ||
      std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return unknown;
  }
  const bool is_known = (ident[EI_CLASS] == ELFCLASS32 || ident[EI_CLASS] == ELFCLASS64) &&
                        (ident[EI_DATA] == ELFDATA2LSB || ident[EI_DATA] == ELFDATA2MSB);
  if (!is_known) return unknown;
  ::elf_version(EV_CURRENT);
  ElfFile file{std::move(*fd), ident, {}};
  std::optional<Elf64_Ehdr> header;
  const std::uint64_t size = file.is_64_bit_ ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  file.visit_entries<Elf64_Ehdr>(0, 1, size, [&](const Elf64_Ehdr& found) {
    header = found;
    return true;
  });
  if (!header) return unknown;
  file.header_ = *header;
  return file;
}

ElfFile::ElfFile(UniqueFd fd, const unsigned char* ident, const Elf64_Ehdr& header)
    : fd_(std::move(fd)),
      is_64_bit_(ident[EI_CLASS] == ELFCLASS64),
      encoding_(ident[EI_DATA]),
      header_(header) {}

/// Entries of a size other than the standard's are of an unknown format.
template <typename Entry>
void ElfFile::visit_entries(std::uint64_t offset, std::uint64_t count, std::uint64_t bytes_each,
                            const std::function<bool(const Entry&)>& visit) const {
  using Narrow = typename Kind<Entry>::Narrow;
  if (bytes_each != (is_64_bit_ ? sizeof(Entry) : sizeof(Narrow))) return;
  is_64_bit_ ? visit_stored<Entry, Entry>(fd_.get(), encoding_, offset, count, visit)
             : visit_stored<Entry, Narrow>(fd_.get(), encoding_, offset, count, visit);
}

std::optional<Elf64_Shdr> ElfFile::section(std::uint64_t index) const {
  std::optional<Elf64_Shdr> found;
  if (header_.e_shoff == 0 || index >= kMaxSections) return found;
  visit_entries<Elf64_Shdr>(header_.e_shoff + index * header_.e_shentsize, 1, header_.e_shentsize,
                            [&](const Elf64_Shdr& section) {
                              found = section;
                              return false;
                            });
  return found;
}

/// If the header has no room for the number, the first section, which is unused, has it.
std::uint64_t ElfFile::count_sections() const {
  if (header_.e_shnum != 0) return header_.e_shnum;
  const std::optional<Elf64_Shdr> first = section(0);
  return first ? std::min<std::uint64_t>(first->sh_size, kMaxSections) : 0;
}

std::uint64_t ElfFile::count_segments() const {
  if (header_.e_phnum != PN_XNUM) return header_.e_phnum;
  const std::optional<Elf64_Shdr> first = section(0);
  return first ? std::min<std::uint64_t>(first->sh_info, kMaxSegments) : 0;
}

std::optional<Elf64_Shdr> ElfFile::section_of_type(Elf64_Word type) const {
  std::optional<Elf64_Shdr> found;
  if (header_.e_shoff == 0) return found;
  visit_entries<Elf64_Shdr>(header_.e_shoff, count_sections(), header_.e_shentsize,
                            [&](const Elf64_Shdr& section) {
                              if (section.sh_type == type) found = section;
                              return !found;
                            });
  return found;
}

void ElfFile::visit_symbols(const Elf64_Shdr& table,
                            const std::function<bool(const Elf64_Sym&)>& visit) const {
  const std::uint64_t each = is_64_bit_ ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
  visit_entries<Elf64_Sym>(table.sh_offset, table.sh_size / each, table.sh_entsize, visit);
}

std::optional<Elf64_Versym> ElfFile::version(const Elf64_Shdr& versions,
                                             std::uint64_t symbol) const {
  unsigned char bytes[sizeof(Elf64_Versym)];
  const std::uint64_t at = symbol * sizeof bytes;
  if (at >= versions.sh_size) return {};
  if (read_at(fd_.get(), versions.sh_offset + at, reinterpret_cast<char*>(bytes), sizeof bytes) !=
      sizeof bytes) {
    return {};
  }
  const bool is_little = encoding_ == ELFDATA2LSB;
  return static_cast<Elf64_Versym>(bytes[is_little ? 0 : 1] | bytes[is_little ? 1 : 0] << 8);
}

void ElfFile::visit_segments(const std::function<bool(const Elf64_Phdr&)>& visit) const {
  visit_entries<Elf64_Phdr>(header_.e_phoff, count_segments(), header_.e_phentsize, visit);
}

void ElfFile::visit_bytes(
    const Elf64_Shdr& section,
    const std::function<bool(std::uint64_t at, std::string_view bytes)>& visit) const {
  std::vector<char> block(kBlock);
  for (std::uint64_t at = 0; at < section.sh_size;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(section.sh_size - at, block.size()));
    const std::size_t got = read_at(fd_.get(), section.sh_offset + at, block.data(), wanted);
    if (got == 0 || !visit(at, {block.data(), got}) || got < wanted) return;
    at += got;
  }
}

}  // namespace pex::elf
