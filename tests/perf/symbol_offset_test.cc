#include "perf/symbol_offset.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>

#include "support/temp_tree.h"

extern "C" {
[[gnu::noinline, gnu::used]] int pex_global_function_of_this_test() { return 1; }
[[gnu::noinline, gnu::used]] static int pex_local_function_of_this_test() { return 2; }
int pex_variable_of_this_test = 3;
}

namespace pex::perf {
namespace {

using ::testing::HasSubstr;

constexpr const char* kThisProgram = "/proc/self/exe";

/// By what the kernel mapped where: proc_pid_maps(5). 0 when nothing is mapped there.
std::uint64_t mapped_offset(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    std::uint64_t offset = 0;
    char dash = 0;
    std::string mode;
    words >> std::hex >> first >> dash >> end >> mode >> offset;
    if (address >= first && address < end) return address - first + offset;
  }
  return 0;
}

template <typename Function>
std::uintptr_t address_of(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

// Files made for the test: one segment, one table of symbols

struct Symbol {
  const char* name;
  std::uint64_t address;
  int binding = STB_GLOBAL;
  int type = STT_FUNC;
  std::uint16_t section = 1;
};

constexpr std::uint64_t kSegmentAddress = 0x400000;
constexpr std::uint64_t kSegmentOffset = 0x200;
constexpr std::uint64_t kSegmentSize = 0x1000;

/// Header, segment, two tables, then the headers of the sections: nothing, names, symbols.
struct ElfImage {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  Elf64_Shdr sections[3]{};
};

void describe_symbols(ElfImage& image, std::size_t names, std::size_t symbols) {
  image.sections[1].sh_type = SHT_STRTAB;
  image.sections[1].sh_offset = sizeof image;
  image.sections[1].sh_size = names;
  image.sections[2].sh_type = SHT_SYMTAB;
  image.sections[2].sh_offset = sizeof image + names;
  image.sections[2].sh_size = symbols * sizeof(Elf64_Sym);
  image.sections[2].sh_entsize = sizeof(Elf64_Sym);
  image.sections[2].sh_link = 1;
}

void describe_file(ElfImage& image) {
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = ELFCLASS64;
  image.header.e_ident[EI_DATA] = ELFDATA2LSB;
  image.header.e_ident[EI_VERSION] = EV_CURRENT;
  image.header.e_type = ET_EXEC;
  image.header.e_machine = EM_X86_64;
  image.header.e_version = EV_CURRENT;
  image.header.e_ehsize = sizeof(Elf64_Ehdr);
  image.header.e_phoff = offsetof(ElfImage, segment);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = 1;
  image.header.e_shoff = offsetof(ElfImage, sections);
  image.header.e_shentsize = sizeof(Elf64_Shdr);
  image.header.e_shnum = 3;
  image.segment.p_type = PT_LOAD;
  image.segment.p_vaddr = kSegmentAddress;
  image.segment.p_offset = kSegmentOffset;
  image.segment.p_filesz = kSegmentSize;
  image.segment.p_memsz = 2 * kSegmentSize;
}

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string elf_with(std::initializer_list<Symbol> symbols) {
  std::string names(1, '\0');
  std::string table = bytes_of(Elf64_Sym{});
  for (const Symbol& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<Elf64_Word>(names.size());
    entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(symbol.binding, symbol.type));
    entry.st_shndx = symbol.section;
    entry.st_value = symbol.address;
    names += symbol.name + std::string(1, '\0');
    table += bytes_of(entry);
  }
  names.resize((names.size() + 7) / 8 * 8);
  ElfImage image;
  describe_file(image);
  describe_symbols(image, names.size(), symbols.size() + 1);
  return bytes_of(image) + names + table;
}

TEST(SymbolOffsetTest, IsWhereTheKernelMapsAFunctionOfThisProgramFrom) {
  const Result<std::uint64_t> global =
      symbol_offset(kThisProgram, "pex_global_function_of_this_test");
  const Result<std::uint64_t> local =
      symbol_offset(kThisProgram, "pex_local_function_of_this_test");

  ASSERT_TRUE(global) << describe(global.error());
  ASSERT_TRUE(local) << describe(local.error());
  EXPECT_EQ(*global, mapped_offset(address_of(pex_global_function_of_this_test)));
  EXPECT_EQ(*local, mapped_offset(address_of(pex_local_function_of_this_test)));
}

TEST(SymbolOffsetTest, FindsWhatAStrippedLibraryExports) {
  void* const function = ::dlsym(RTLD_DEFAULT, "getaddrinfo");
  ASSERT_NE(function, nullptr);
  Dl_info library{};
  ASSERT_NE(::dladdr(function, &library), 0);

  const Result<std::uint64_t> offset = symbol_offset(library.dli_fname, "getaddrinfo");

  ASSERT_TRUE(offset) << describe(offset.error());
  EXPECT_EQ(*offset, mapped_offset(address_of(static_cast<char*>(function))));
}

TEST(SymbolOffsetTest, GoesByTheSegmentThatHoldsTheSymbol) {
  const test::TempTree tree{{"program", elf_with({{"first", kSegmentAddress},
                                                  {"inside", kSegmentAddress + 0x123},
                                                  {"last", kSegmentAddress + kSegmentSize - 1}})}};

  const std::string file = tree.path("program");

  EXPECT_EQ(*symbol_offset(file, "first"), 0x200U);
  EXPECT_EQ(*symbol_offset(file, "inside"), 0x323U);
  EXPECT_EQ(*symbol_offset(file, "last"), 0x11ffU);
}

TEST(SymbolOffsetTest, PrefersTheGlobalOneOfSeveralAndElseTheFirst) {
  const test::TempTree tree{{"program", elf_with({{"run", kSegmentAddress + 0x10, STB_LOCAL},
                                                  {"run", kSegmentAddress + 0x20, STB_WEAK},
                                                  {"run", kSegmentAddress + 0x30},
                                                  {"aid", kSegmentAddress + 0x40, STB_LOCAL},
                                                  {"aid", kSegmentAddress + 0x50, STB_LOCAL}})}};

  const Result<std::uint64_t> global = symbol_offset(tree.path("program"), "run");
  const Result<std::uint64_t> local = symbol_offset(tree.path("program"), "aid");

  EXPECT_EQ(*global, 0x220U);
  EXPECT_EQ(*local, 0x240U);
}

TEST(SymbolOffsetTest, FailsForWhatIsNotAFunctionOfTheFile) {
  const test::TempTree tree{
      {"program", elf_with({{"called", 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
                            {"variable", kSegmentAddress, STB_GLOBAL, STT_OBJECT},
                            {"in_memory_only", kSegmentAddress + kSegmentSize},
                            {"below", kSegmentAddress - 1}})}};

  for (const char* symbol : {"called", "variable", "in_memory_only", "below", "absent", ""}) {
    const Result<std::uint64_t> offset = symbol_offset(tree.path("program"), symbol);

    ASSERT_FALSE(offset) << symbol;
    EXPECT_EQ(offset.error().code, ENOENT);
    EXPECT_THAT(offset.error().attempted, HasSubstr("program"));
    EXPECT_NE(offset.error().remedy, "");
  }
}

TEST(SymbolOffsetTest, SuggestsTheNearestFunction) {
  const Result<std::uint64_t> offset =
      symbol_offset(kThisProgram, "pex_global_function_of_this_tset");

  ASSERT_FALSE(offset);
  EXPECT_EQ(offset.error().remedy, "did you mean 'pex_global_function_of_this_test'?");
}

TEST(SymbolOffsetTest, SaysThatAFileIsStripped) {
  const test::TempTree tree{{"program", elf_with({})}};

  const Result<std::uint64_t> offset = symbol_offset(tree.path("program"), "main");

  ASSERT_FALSE(offset);
  EXPECT_THAT(offset.error().remedy, HasSubstr("stripped"));
}

TEST(SymbolOffsetTest, FailsWithTheErrnoOfWhatIsNoProgram) {
  const test::TempTree tree{{"folder/"}, {"empty"}, {"script", "#!/bin/sh\n"}};
  struct Row {
    const char* file;
    int code;
  };
  const Row rows[] = {
      {"absent", ENOENT}, {"script/main", ENOTDIR}, {"folder", ENOEXEC},
      {"empty", ENOEXEC}, {"script", ENOEXEC},
  };

  for (const Row& row : rows) {
    const Result<std::uint64_t> offset = symbol_offset(tree.path(row.file), "main");

    ASSERT_FALSE(offset) << row.file;
    EXPECT_EQ(offset.error().code, row.code) << row.file;
    EXPECT_THAT(offset.error().attempted, HasSubstr(row.file));
  }
}

RC_GTEST_PROP(SymbolOffsetTest, AnswersToAnyBytes, ()) {
  std::string image = elf_with({{"main", kSegmentAddress}, {"exit", kSegmentAddress + 0x10}});
  const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
      rc::gen::pair(rc::gen::inRange<std::size_t>(0, image.size()), rc::gen::arbitrary<char>()));
  for (const auto& [at, byte] : changes) image[at] = byte;
  image.resize(*rc::gen::inRange<std::size_t>(0, image.size() + 1));
  const test::TempTree tree{{"program", image}};

  const Result<std::uint64_t> offset = symbol_offset(tree.path("program"), "main");

  RC_ASSERT(offset.has_value() || offset.error().code != 0);
}

}  // namespace
}  // namespace pex::perf
