#include "perf/symbol_offset.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/parse.h"
#include "base/unique_fd.h"

namespace pex::perf {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const noexcept { ::elf_end(elf); }
};
using UniqueElf = std::unique_ptr<Elf, ElfEnd>;

bool is_function_of_this_file(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

using Visit = std::function<void(const char* name, const GElf_Sym& symbol)>;

void visit_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const Visit& visit) {
  Elf_Data* const data = ::elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (::gelf_getsym(data, i, &symbol) == nullptr) return;
    const char* const name = ::elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && is_function_of_this_file(symbol)) visit(name, symbol);
  }
}

/// The functions of .symtab, which a stripped file has not, and of .dynsym.
void visit_functions(Elf* elf, const Visit& visit) {
  for (const auto table : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header;
      if (::gelf_getshdr(section, &header) == nullptr) continue;
      if (header.sh_type == static_cast<GElf_Word>(table)) visit_table(elf, section, header, visit);
    }
  }
}

std::optional<GElf_Addr> find_address(Elf* elf, const std::string& symbol) {
  std::optional<GElf_Addr> global;
  std::optional<GElf_Addr> local;
  visit_functions(elf, [&](const char* name, const GElf_Sym& found) {
    std::optional<GElf_Addr>& place = GELF_ST_BIND(found.st_info) == STB_LOCAL ? local : global;
    if (!place && symbol == name) place = found.st_value;
  });
  return global ? global : local;
}

/// The segment that is loaded to `address` tells which byte of the file that is.
std::optional<std::uint64_t> offset_of(Elf* elf, GElf_Addr address) {
  std::size_t count = 0;
  if (::elf_getphdrnum(elf, &count) != 0) return {};
  for (int i = 0; i < static_cast<int>(count); ++i) {
    GElf_Phdr segment;
    if (::gelf_getphdr(elf, i, &segment) == nullptr || segment.p_type != PT_LOAD) continue;
    if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
    return address - segment.p_vaddr + segment.p_offset;
  }
  return {};
}

Error no_such_function(Elf* elf, const std::string& what, const std::string& symbol) {
  std::vector<std::string> names;
  visit_functions(elf, [&](const char* name, const GElf_Sym&) { names.emplace_back(name); });
  const std::optional<std::string> meant = nearest(symbol, names);
  if (meant) return Error{ENOENT, what, "did you mean '" + *meant + "'?"};
  if (names.empty()) {
    return Error{ENOENT, what, "the file is stripped: write the function's offset in it, 0x..."};
  }
  return Error{ENOENT, what, "see 'nm' and 'nm --dynamic' of that file for those it has"};
}

}  // namespace

Result<std::uint64_t> symbol_offset(const std::string& file, const std::string& symbol) {
  const UniqueFd fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) {
    const int code = errno;
    return Error{code, "open '" + file + "' to look for the function '" + symbol + "'", {}};
  }
  ::elf_version(EV_CURRENT);
  const UniqueElf elf{::elf_begin(fd.get(), ELF_C_READ, nullptr)};
  if (elf == nullptr || ::elf_kind(elf.get()) != ELF_K_ELF) {
    return Error{ENOEXEC, "look for the function '" + symbol + "' in '" + file + "'",
                 "name a program or a shared library"};
  }
  const std::string what = "there is no function '" + symbol + "' in '" + file + "'";
  const std::optional<GElf_Addr> address = find_address(elf.get(), symbol);
  if (!address) return no_such_function(elf.get(), what, symbol);
  const std::optional<std::uint64_t> offset = offset_of(elf.get(), *address);
  if (!offset) return Error{ENOENT, what + " that is ever loaded", "name the linked program"};
  return *offset;
}

}  // namespace pex::perf
