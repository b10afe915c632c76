#include "elf/symbol_offset.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "elf/elf_file.h"

namespace pex::elf {
namespace {

// The limits on reading a file. A browser with all its debug symbols, one of the largest programs,
// has 2 million symbols with 200 MB of names.
constexpr std::uint64_t kMaxSymbols = 1 << 24;
constexpr std::uint64_t kMaxNameBytes = std::uint64_t{1} << 30;

/// Places where the wanted name is the end of another one, as linkers share the ends of names. A
/// name of a single letter ends up to each sixth of all names.
constexpr std::size_t kMaxPlaces = 1 << 22;

// Limits of the search for a similar name.
constexpr std::size_t kMaxSuggestionBytes = 128;
constexpr std::size_t kMaxNames = 1 << 22;
constexpr std::size_t kMaxComparisons = 200'000;

/// Symbols of one name of which the version is read.
constexpr std::size_t kMaxVersions = 1024;
constexpr Elf64_Versym kHiddenVersion = 0x8000;  // VERSYM_HIDDEN of binutils

bool has_type(const Elf64_Sym& symbol, unsigned type) {
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == type;
}

bool is_function_of_this_file(const Elf64_Sym& symbol) { return has_type(symbol, STT_FUNC); }

/// Its address is that of a function which is called once, and returns the one to use.
bool is_indirect_function(const Elf64_Sym& symbol) { return has_type(symbol, STT_GNU_IFUNC); }

/// A table of symbols, the section that has their names, and the one that has their versions.
struct SymbolTable {
  Elf64_Shdr symbols;
  Elf64_Shdr names;
  std::optional<Elf64_Shdr> versions;
};

/// .symtab, which a stripped file does not have, and .dynsym. The standard has no compressed ones.
std::vector<SymbolTable> symbol_tables(const ElfFile& elf) {
  std::vector<SymbolTable> tables;
  for (const Elf64_Word type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const std::optional<Elf64_Shdr> symbols = elf.section_of_type(type);
    const auto names = symbols ? elf.section(symbols->sh_link) : std::nullopt;
    const bool is_readable = names && names->sh_type == SHT_STRTAB &&
                             ((symbols->sh_flags | names->sh_flags) & SHF_COMPRESSED) == 0;
    if (!is_readable) continue;
    const auto versions = type == SHT_DYNSYM ? elf.section_of_type(SHT_GNU_versym) : std::nullopt;
    tables.push_back({*symbols, *names, versions});
  }
  return tables;
}

bool is_too_large(const SymbolTable& table) {
  return table.symbols.sh_size / sizeof(Elf64_Sym) > kMaxSymbols ||
         table.names.sh_size > kMaxNameBytes;
}

/// The content of a section of names, block by block, each preceded by the last `overlap` bytes of
/// the previous one, as a name may begin there. `visit` gets the offset of the bytes and the number
/// that it has seen before; it returns false to end.
using VisitNames =
    std::function<bool(std::uint64_t begin, std::string_view bytes, std::size_t seen)>;

void visit_names(const ElfFile& elf, const Elf64_Shdr& names, std::size_t overlap,
                 const VisitNames& visit) {
  std::string window;
  elf.visit_bytes(names, [&](std::uint64_t at, std::string_view bytes) {
    window.erase(0, window.size() - std::min(window.size(), overlap));
    const std::size_t seen = window.size();
    window += bytes;
    return visit(at - seen, window, seen);
  });
}

/// The offset of `wanted` in `bytes`, starting at `from`. In linear time, which string_view::find()
/// does not guarantee.
std::size_t find_from(std::size_t from, std::string_view wanted, std::string_view bytes) {
  const void* const found =
      ::memmem(bytes.data() + from, bytes.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
}

/// The offsets of `name` in the section of names, in order; also as the end of a longer name.
/// Nothing if there are too many.
std::optional<std::vector<std::uint32_t>> places_of(const std::string& name, const ElfFile& elf,
                                                    const Elf64_Shdr& names) {
  const std::string_view wanted{name.c_str(), name.size() + 1};  // with the terminating NUL
  std::vector<std::uint32_t> places;  // reserved at once, as growing takes more memory
  places.reserve(std::min<std::uint64_t>(kMaxPlaces, names.sh_size / wanted.size()));
  bool has_too_many = false;
  visit_names(elf, names, name.size(),
              [&](std::uint64_t begin, std::string_view bytes, std::size_t) {
                for (std::size_t at = 0; (at = find_from(at, wanted, bytes)) != bytes.npos; ++at) {
                  has_too_many = places.size() == kMaxPlaces;
                  if (has_too_many) return false;
                  places.push_back(static_cast<std::uint32_t>(begin + at));
                }
                return true;
              });
  if (has_too_many) return {};
  return places;
}

struct Function {
  Elf64_Addr address;
  bool is_indirect;  ///< which one is called is decided when a program is loaded
};

/// The functions of one name, the first of each binding.
struct Functions {
  std::optional<Function> global;  ///< without a version, or of the default one
  std::optional<Function> old;     ///< of a version that programs are no longer linked with
  std::optional<Function> local;
  std::size_t versions_read = 0;

  /// Not another one in place of an indirect function: programs do not call it.
  std::optional<Function> best() const { return global ? global : old ? old : local; }
};

bool is_old(const ElfFile& elf, const SymbolTable& table, std::uint64_t symbol,
            Functions& functions) {
  if (!table.versions) return false;
  if (functions.versions_read == kMaxVersions) return true;
  ++functions.versions_read;
  return (elf.version(*table.versions, symbol).value_or(0) & kHiddenVersion) != 0;
}

/// False if the name occurs at too many offsets.
bool find_functions(const ElfFile& elf, const SymbolTable& table, const std::string& name,
                    Functions& functions) {
  const auto places = places_of(name, elf, table.names);
  if (!places) return false;
  if (places->empty()) return true;
  std::uint64_t next = 0;
  elf.visit_symbols(table.symbols, [&](const Elf64_Sym& symbol) {
    const std::uint64_t number = next++;
    if (!std::binary_search(places->begin(), places->end(), symbol.st_name)) return true;
    const bool is_indirect = is_indirect_function(symbol);
    if (!is_indirect && !is_function_of_this_file(symbol)) return true;
    std::optional<Function>& function = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? functions.local
                                        : is_old(elf, table, number, functions)    ? functions.old
                                                                                : functions.global;
    if (!function) function = {symbol.st_value, is_indirect};
    return !functions.global;
  });
  return true;
}

/// The segment that is loaded to `address` determines the offset in the file.
std::optional<std::uint64_t> offset_of(const ElfFile& elf, Elf64_Addr address) {
  std::optional<std::uint64_t> offset;
  elf.visit_segments([&](const Elf64_Phdr& segment) {
    const bool is_loaded_there = segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                                 address - segment.p_vaddr < segment.p_filesz;
    if (is_loaded_there) offset = address - segment.p_vaddr + segment.p_offset;
    return !offset;
  });
  return offset;
}

/// Of a byte of the file; segments can overlap.
std::vector<Elf64_Addr> addresses_of(const ElfFile& elf, std::uint64_t offset) {
  std::vector<Elf64_Addr> addresses;
  elf.visit_segments([&](const Elf64_Phdr& segment) {
    const bool has_it = segment.p_type == PT_LOAD && offset >= segment.p_offset &&
                        offset - segment.p_offset < segment.p_filesz;
    if (has_it) addresses.push_back(offset - segment.p_offset + segment.p_vaddr);
    return true;
  });
  return addresses;
}

/// The offsets of the names of functions, in order and each once.
std::vector<std::uint32_t> names_of_functions(const ElfFile& elf, const Elf64_Shdr& symbols) {
  std::vector<std::uint32_t> starts;  // reserved at once, as growing takes more memory
  starts.reserve(std::min<std::uint64_t>(kMaxNames, symbols.sh_size / sizeof(Elf32_Sym)));
  elf.visit_symbols(symbols, [&](const Elf64_Sym& symbol) {
    if (is_function_of_this_file(symbol)) starts.push_back(symbol.st_name);
    return starts.size() < kMaxNames;
  });
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

/// The function whose name is most similar to an unknown one.
class Suggestion {
 public:
  explicit Suggestion(std::string_view wanted)
      : wanted_(wanted), distance_(too_many_changes(wanted)) {}

  /// `starts` are those of names_of_functions(). Ends after a limited number of comparisons.
  void compare(const ElfFile& elf, const Elf64_Shdr& names,
               const std::vector<std::uint32_t>& starts) {
    auto start = starts.begin();
    visit_names(elf, names, kMaxSuggestionBytes,
                [&](std::uint64_t begin, std::string_view bytes, std::size_t seen) {
                  for (std::size_t end = seen; (end = bytes.find('\0', end)) != bytes.npos; ++end) {
                    for (; start != starts.end() && *start <= begin + end; ++start) {
                      const std::uint64_t size = begin + end - *start;
                      if (size <= kMaxSuggestionBytes) offer(bytes.substr(end - size, size));
                    }
                  }
                  return start != starts.end() && comparisons_ < kMaxComparisons;
                });
  }

  const std::string& name() const { return name_; }  ///< empty: none is near

 private:
  void offer(std::string_view name) {
    if (comparisons_ >= kMaxComparisons || wanted_.size() > kMaxSuggestionBytes) return;
    ++comparisons_;
    const std::size_t distance = edit_distance(wanted_, name, distance_);
    if (distance >= distance_) return;
    distance_ = distance;
    name_ = name;
  }

  std::string_view wanted_;
  std::size_t distance_;
  std::size_t comparisons_ = 0;
  std::string name_;
};

Error no_such_function(const ElfFile& elf, const std::vector<SymbolTable>& tables,
                       const std::string& what, const std::string& symbol) {
  Suggestion meant{symbol};
  bool has_functions = false;
  for (const SymbolTable& table : tables) {
    const std::vector<std::uint32_t> starts = names_of_functions(elf, table.symbols);
    has_functions = has_functions || !starts.empty();
    meant.compare(elf, table.names, starts);
  }
  if (!meant.name().empty()) return Error{ENOENT, what, "did you mean '" + meant.name() + "'?"};
  if (!has_functions) {
    return Error{ENOENT, what,
                 "the file is stripped: write the offset of the function in it, 0x..."};
  }
  return Error{ENOENT, what, "see 'nm' and 'nm --dynamic' of that file for those it has"};
}

/// As are memcpy and strlen of the C library.
Error chosen_when_loaded(const std::string& file, const std::string& symbol) {
  return Error{ENOENT,
               "there is more than one function '" + symbol + "' in '" + file +
                   "': which one is called is decided when a program is loaded (IFUNC)",
               "write the offset of the one that is called, 0x..."};
}

}  // namespace

Result<std::uint64_t> symbol_offset(const std::string& file, const std::string& symbol) {
  const Result<ElfFile> elf = ElfFile::open(file);
  if (!elf) {
    return Error{elf.error().code,
                 "look for the function '" + symbol + "': " + elf.error().attempted,
                 elf.error().remedy};
  }
  const std::string what = "there is no function '" + symbol + "' in '" + file + "'";
  const std::vector<SymbolTable> tables = symbol_tables(*elf);
  Functions functions;
  const bool are_read = std::all_of(tables.begin(), tables.end(), [&](const SymbolTable& table) {
    return !is_too_large(table) &&
           (symbol.empty() || find_functions(*elf, table, symbol, functions));
  });
  if (!are_read) {
    return Error{EFBIG, "look for the function '" + symbol + "' in '" + file + "'",
                 "it has more symbols than are searched: write the function's offset in it, 0x..."};
  }
  const auto function = functions.best();
  if (!function) return no_such_function(*elf, tables, what, symbol);
  if (function->is_indirect) return chosen_when_loaded(file, symbol);
  const std::optional<std::uint64_t> offset = offset_of(*elf, function->address);
  if (!offset) return Error{ENOENT, what + " that is ever loaded", "name the linked program"};
  return *offset;
}

Result<bool> begins_function(const std::string& file, std::uint64_t offset) {
  const Result<ElfFile> elf = ElfFile::open(file);
  if (!elf) return elf.error();
  const std::vector<Elf64_Addr> addresses = addresses_of(*elf, offset);
  bool is_found = false;
  for (const SymbolTable& table : symbol_tables(*elf)) {
    if (is_too_large(table)) return Error{EFBIG, "look for functions in '" + file + "'", {}};
    elf->visit_symbols(table.symbols, [&](const Elf64_Sym& symbol) {
      is_found = (is_function_of_this_file(symbol) || is_indirect_function(symbol)) &&
                 std::find(addresses.begin(), addresses.end(), symbol.st_value) != addresses.end();
      return !is_found;
    });
    if (is_found) return true;
  }
  return false;
}

}  // namespace pex::elf
