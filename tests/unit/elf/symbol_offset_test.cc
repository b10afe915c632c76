#include "elf/symbol_offset.h"

#include <dlfcn.h>
#include <elf.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iostream>

#include "support/temp_tree.h"
#include "support/test_headers.h"

extern "C" {
[[gnu::noinline, gnu::used]] int pex_global_function_of_this_test() { return 1; }
[[gnu::noinline, gnu::used]] static int pex_local_function_of_this_test() { return 2; }
int pex_variable_of_this_test = 3;
}

namespace pex::elf {
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

struct Class64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  static constexpr unsigned char kClass = ELFCLASS64;
};
struct Class32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  static constexpr unsigned char kClass = ELFCLASS32;
};

/// Header, segment, then the headers of the sections: nothing, names, symbols. Two tables follow.
template <typename Class>
struct ImageOf {
  typename Class::Header header{};
  typename Class::Segment segment{};
  typename Class::Section sections[3]{};
};
using ElfImage = ImageOf<Class64>;

/// The same with a table of the versions of the symbols, as in a library.
struct VersionedImage {
  ElfImage image;
  Elf64_Shdr versions{};
};

template <typename Class>
void describe_symbols(ImageOf<Class>& image, std::size_t names, std::size_t symbols) {
  using Entry = typename Class::Symbol;
  image.sections[1].sh_type = SHT_STRTAB;
  image.sections[1].sh_offset = sizeof image;
  image.sections[1].sh_size = names;
  image.sections[2].sh_type = SHT_SYMTAB;
  image.sections[2].sh_offset = sizeof image + names;
  image.sections[2].sh_size = symbols * sizeof(Entry);
  image.sections[2].sh_entsize = sizeof(Entry);
  image.sections[2].sh_link = 1;
}

template <typename Class>
void describe_file(ImageOf<Class>& image) {
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = Class::kClass;
  image.header.e_ident[EI_DATA] = ELFDATA2LSB;
  image.header.e_ident[EI_VERSION] = EV_CURRENT;
  image.header.e_type = ET_EXEC;
  image.header.e_machine = EM_X86_64;
  image.header.e_version = EV_CURRENT;
  image.header.e_ehsize = sizeof image.header;
  image.header.e_phoff = offsetof(ImageOf<Class>, segment);
  image.header.e_phentsize = sizeof image.segment;
  image.header.e_phnum = 1;
  image.header.e_shoff = offsetof(ImageOf<Class>, sections);
  image.header.e_shentsize = sizeof image.sections[0];
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

/// An image of whatever names and symbols.
template <typename Class = Class64>
std::string elf_of(std::string names, const std::string& table) {
  names.resize((names.size() + 7) / 8 * 8);
  ImageOf<Class> image;
  describe_file(image);
  describe_symbols(image, names.size(), table.size() / sizeof(typename Class::Symbol));
  return bytes_of(image) + names + table;
}

Elf64_Sym function_at(std::uint64_t address, std::size_t name) {
  Elf64_Sym entry{};
  entry.st_name = static_cast<Elf64_Word>(name);
  entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  entry.st_shndx = 1;
  entry.st_value = address;
  return entry;
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
  return elf_of(std::move(names), table);
}

struct VersionedSymbol {
  std::uint64_t address;
  int type;
  Elf64_Versym version;
};
constexpr Elf64_Versym kDefaultVersion = 3;   // memcpy@@GLIBC_2.14
constexpr Elf64_Versym kOldVersion = 0x8002;  // memcpy@GLIBC_2.2.5

/// A stripped library with several versions of one function.
std::string library_with(std::string name, const std::vector<VersionedSymbol>& symbols) {
  std::string names = '\0' + std::move(name);
  names.resize((names.size() + 8) / 8 * 8);
  std::string table = bytes_of(Elf64_Sym{});
  std::string versions = bytes_of(Elf64_Versym{});
  for (const VersionedSymbol& symbol : symbols) {
    Elf64_Sym entry = function_at(symbol.address, 1);
    entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, symbol.type));
    table += bytes_of(entry);
    versions += bytes_of(symbol.version);
  }
  VersionedImage library;
  describe_file(library.image);
  describe_symbols(library.image, names.size(), table.size() / sizeof(Elf64_Sym));
  library.image.header.e_shnum = 4;
  library.image.sections[1].sh_offset = sizeof library;
  library.image.sections[2].sh_offset = sizeof library + names.size();
  library.image.sections[2].sh_type = SHT_DYNSYM;
  library.versions.sh_type = SHT_GNU_versym;
  library.versions.sh_offset = sizeof library + names.size() + table.size();
  library.versions.sh_size = versions.size();
  return bytes_of(library) + names + table + versions;
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

TEST(SymbolOffsetTest, IsThatOfTheVersionWithWhichProgramsAreLinked) {
  std::size_t found = 0;
  for (const char* name : {"pthread_cond_timedwait", "pthread_cond_init", "pthread_kill", "regexec",
                           "sched_setaffinity", "glob", "fopen", "posix_spawn", "nftw"}) {
    void* const function = ::dlsym(RTLD_DEFAULT, name);
    Dl_info library{};
    if (function == nullptr || ::dladdr(function, &library) == 0) continue;
    if (std::strstr(library.dli_fname, "libc.so") == nullptr) continue;  // of a sanitizer
    ++found;

    const Result<std::uint64_t> offset = symbol_offset(library.dli_fname, name);

    ASSERT_TRUE(offset) << describe(offset.error());
    EXPECT_EQ(*offset, mapped_offset(address_of(static_cast<char*>(function)))) << name;
  }
  EXPECT_GT(found, 3u);
}

TEST(BeginsFunctionTest, IsTrueOfTheFirstByteOfEachFunctionAndOfNoOther) {
  const test::TempTree tree{
      {"program", elf_with({{"copy", kSegmentAddress, STB_GLOBAL, STT_GNU_IFUNC},
                            {"run", kSegmentAddress + 0x10, STB_LOCAL}})}};
  const std::string file = tree.path("program");
  const std::uint64_t begin = *symbol_offset(file, "run");

  EXPECT_TRUE(*begins_function(file, begin));
  EXPECT_TRUE(*begins_function(file, begin - 0x10));
  for (const std::uint64_t offset : {begin - 1, begin + 1, std::uint64_t{0}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(*begins_function(file, offset)) << offset;
  }
  EXPECT_FALSE(begins_function(tree.path("none"), begin));
}

void expect_chosen_at_load(const std::string& file, const std::string& symbol) {
  const Result<std::uint64_t> offset = symbol_offset(file, symbol);

  ASSERT_FALSE(offset) << symbol;
  EXPECT_EQ(offset.error().code, ENOENT);
  EXPECT_THAT(offset.error().attempted, HasSubstr("decided when a program is loaded"));
}

TEST(SymbolOffsetTest, FailsForAFunctionThatIsChosenWhenAProgramIsLoaded) {
  const test::TempTree tree{
      {"program", elf_with({{"copy", kSegmentAddress, STB_GLOBAL, STT_GNU_IFUNC},
                            {"length", kSegmentAddress + 0x10, STB_LOCAL},
                            {"length", kSegmentAddress, STB_GLOBAL, STT_GNU_IFUNC}})}};

  for (const char* symbol : {"copy", "length"}) expect_chosen_at_load(tree.path("program"), symbol);
}

TEST(SymbolOffsetTest, IsNotThatOfAnOldVersionWhenTheDefaultOneIsChosenWhenAProgramIsLoaded) {
  const VersionedSymbol old{kSegmentAddress + 0x10, STT_FUNC, kOldVersion};
  const VersionedSymbol chosen{kSegmentAddress, STT_GNU_IFUNC, kDefaultVersion};
  for (const auto& symbols : {std::vector{old, chosen}, std::vector{chosen, old}}) {
    const test::TempTree tree{{"libc.so", library_with("memcpy", symbols)}};

    expect_chosen_at_load(tree.path("libc.so"), "memcpy");
  }
}

TEST(SymbolOffsetTest, IsThatOfTheDefaultVersionWhenAnOldOneIsChosenWhenAProgramIsLoaded) {
  const test::TempTree tree{
      {"libc.so", library_with("memcpy", {{kSegmentAddress, STT_GNU_IFUNC, kOldVersion},
                                          {kSegmentAddress + 0x10, STT_FUNC, kDefaultVersion}})}};

  EXPECT_EQ(*symbol_offset(tree.path("libc.so"), "memcpy"), 0x210U);
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

TEST(SymbolOffsetTest, ReportsThatAFileIsStripped) {
  const test::TempTree tree{{"program", elf_with({})}};

  const Result<std::uint64_t> offset = symbol_offset(tree.path("program"), "main");

  ASSERT_FALSE(offset);
  EXPECT_THAT(offset.error().remedy.text(), HasSubstr("stripped"));
}

TEST(SymbolOffsetTest, FailsWithTheErrnoOfWhatIsNoProgram) {
  const test::TempTree tree{{"folder/"}, {"empty"}, {"script", "#!/bin/sh\n"}};
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0600), 0);
  struct Row {
    const char* file;
    int code;
  };
  const Row rows[] = {
      {"absent", ENOENT}, {"script/main", ENOTDIR}, {"folder", EISDIR},
      {"empty", ENOEXEC}, {"script", ENOEXEC},      {"fifo", EINVAL},
  };

  for (const Row& row : rows) {
    const Result<std::uint64_t> offset = symbol_offset(tree.path(row.file), "main");

    ASSERT_FALSE(offset) << row.file;
    EXPECT_EQ(offset.error().code, row.code) << row.file;
    EXPECT_THAT(offset.error().attempted, HasSubstr(row.file));
    const bool is_there = row.code != ENOENT && row.code != ENOTDIR;
    EXPECT_EQ(offset.error().remedy, is_there ? "name a program or a shared library" : "");
  }
}

TEST(SymbolOffsetTest, FindsANameThatIsTheEndOfAnother) {
  const std::string names("\0do_exit\0", 9);
  const test::TempTree tree{
      {"program",
       elf_of(names, bytes_of(Elf64_Sym{}) + bytes_of(function_at(kSegmentAddress + 0x10, 1)) +
                         bytes_of(function_at(kSegmentAddress + 0x20, 4)))}};

  EXPECT_EQ(*symbol_offset(tree.path("program"), "do_exit"), 0x210U);
  EXPECT_EQ(*symbol_offset(tree.path("program"), "exit"), 0x220U);
}

TEST(SymbolOffsetTest, FindsNamesWhereverTheBlocksOfTheFileEnd) {
  for (std::size_t before = 65'500; before < 65'560; ++before) {
    std::string names(1, '\0');
    names += std::string(before, 'x') + std::string(1, '\0');
    const std::size_t place = names.size();
    names += "wanted_function" + std::string(1, '\0');
    const test::TempTree tree{
        {"program", elf_of(names, bytes_of(function_at(kSegmentAddress, place)))}};

    EXPECT_EQ(*symbol_offset(tree.path("program"), "wanted_function"), 0x200U) << before;
    const Result<std::uint64_t> other = symbol_offset(tree.path("program"), "wanted_functoin");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().remedy, "did you mean 'wanted_function'?") << before;
  }
}

TEST(SymbolOffsetTest, ReadsFilesOf32Bits) {
  Elf32_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 1;
  symbol.st_value = kSegmentAddress + 0x42;
  const std::string table = bytes_of(Elf32_Sym{}) + bytes_of(symbol);
  const test::TempTree tree{{"program", elf_of<Class32>(std::string("\0main\0", 6), table)}};

  EXPECT_EQ(*symbol_offset(tree.path("program"), "main"), 0x242U);
}

// Files that were made to do harm

/// The most memory, in kB, of a process of its own that looks for `symbol` in `file`. Without a
/// file, what such a process takes in any case.
long peak_memory_of_looking_for(const std::string& symbol, const std::string& file) {
  ::malloc_trim(0);  // what this process has freed would be used without being counted
  const pid_t child = ::fork();
  if (child == 0) {
    if (!file.empty()) (void)symbol_offset(file, symbol);
    ::_exit(0);
  }
  int status = 0;
  rusage used{};
  EXPECT_EQ(::wait4(child, &status, 0, &used), child);
  EXPECT_EQ(status, 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  if (!file.empty()) {
    std::cout << "CPU time: " << seconds(used.ru_utime) + seconds(used.ru_stime) << " s\n";
  }
  return used.ru_maxrss;
}

void expect_little_memory_for(const std::string& symbol, const std::string& file) {
  const long more = peak_memory_of_looking_for(symbol, file) - peak_memory_of_looking_for("", "");
  std::cout << "memory: " << more << " kB\n";
  EXPECT_LT(more, 25'000) << "kB";
}

TEST(SymbolOffsetTest, TakesLittleForManySymbolsThatShareOneLongName) {
  std::string table;
  for (int i = 0; i < 20'000; ++i) table += bytes_of(function_at(kSegmentAddress, 1));
  const std::string names = std::string(1, '\0') + std::string(100'000, 'a');
  const test::TempTree tree{{"program", elf_of(names, table)}};

  expect_little_memory_for("aaaaaaaaaaaaaaaaab", tree.path("program"));
}

TEST(SymbolOffsetTest, TakesLittleForMillionsOfNamesThatAreNearlyTheOne) {
  std::string names(1, '\0');
  std::string table;
  for (int i = 0; i < 1'000'000; ++i) {
    table += bytes_of(function_at(kSegmentAddress, names.size()));
    names += std::string("almost_the_name_", 17);
  }
  for (int i = 0; i < 5'000'000; ++i) names += std::string("y", 2);
  const test::TempTree tree{{"program", elf_of(names, table)}};

  expect_little_memory_for("almost_the_name_of", tree.path("program"));
  expect_little_memory_for("y", tree.path("program"));
}

/// A file of `size` bytes of which nearly all is a hole.
void make_sparse(const std::string& file, const ElfImage& image, off_t size) {
  std::ofstream{file} << bytes_of(image);
  ASSERT_EQ(::truncate(file.c_str(), size), 0) << std::strerror(errno);
}

constexpr off_t kHuge = off_t{100} << 30;

TEST(SymbolOffsetTest, RefusesTablesThatAreLargerThanThoseOfAnyProgram) {
  const test::TempTree tree{{"folder/"}};
  const std::string file = tree.path("program");
  ElfImage image;
  describe_file(image);
  const std::uint64_t rest = kHuge / 4;
  for (const auto& [names, symbols] :
       {std::pair{rest, std::uint64_t{1}}, std::pair{64UL, rest / 24}}) {
    describe_symbols(image, names, symbols);
    make_sparse(file, image, kHuge);

    expect_little_memory_for("main", file);
    const Result<std::uint64_t> offset = symbol_offset(file, "main");
    ASSERT_FALSE(offset);
    EXPECT_EQ(offset.error().code, EFBIG);
    EXPECT_THAT(offset.error().remedy.text(), HasSubstr("0x"));
  }
}

TEST(SymbolOffsetTest, ReadsABoundedNumberOfSectionsAndSegments) {
  const test::TempTree tree{{"folder/"}};
  const std::string file = tree.path("program");
  ElfImage image;
  describe_file(image);
  describe_symbols(image, 64, 1);
  image.header.e_shnum = 0;
  image.header.e_phnum = PN_XNUM;
  image.sections[0].sh_size = std::uint64_t{1} << 30;
  image.sections[0].sh_info = 0xffff'ffff;
  image.sections[2].sh_type = SHT_PROGBITS;
  make_sparse(file, image, kHuge);

  expect_little_memory_for("main", file);
}

TEST(SymbolOffsetTest, DoesNotBelieveSizesThatPointOutOfTheFile) {
  struct Row {
    const char* what;
    std::function<void(ElfImage&)> change;
  };
  const Row rows[] = {
      {"names end behind the file", [](ElfImage& i) { i.sections[1].sh_size = 1 << 29; }},
      {"symbols end behind the file", [](ElfImage& i) { i.sections[2].sh_size = 1 << 28; }},
      {"names begin behind the file", [](ElfImage& i) { i.sections[1].sh_offset = ~0ULL - 8; }},
      {"symbols begin behind the file", [](ElfImage& i) { i.sections[2].sh_offset = ~0ULL - 8; }},
      {"entries of one byte", [](ElfImage& i) { i.sections[2].sh_entsize = 1; }},
      {"entries of no byte", [](ElfImage& i) { i.sections[2].sh_entsize = 0; }},
      {"compressed names", [](ElfImage& i) { i.sections[1].sh_flags = SHF_COMPRESSED; }},
      {"compressed symbols", [](ElfImage& i) { i.sections[2].sh_flags = SHF_COMPRESSED; }},
      {"names in no section", [](ElfImage& i) { i.sections[2].sh_link = 0xffff'ffff; }},
      {"names in the symbols", [](ElfImage& i) { i.sections[2].sh_link = 2; }},
      {"sections behind the file", [](ElfImage& i) { i.header.e_shoff = ~0ULL - 8; }},
      {"segments behind the file", [](ElfImage& i) { i.header.e_phoff = ~0ULL - 8; }},
  };
  const std::string names("\0main\0\0", 7);
  const std::string table = bytes_of(function_at(kSegmentAddress, 1));
  for (const Row& row : rows) {
    std::string bytes = elf_of(names, table);
    ElfImage image;
    std::memcpy(&image, bytes.data(), sizeof image);
    row.change(image);
    bytes.replace(0, sizeof image, bytes_of(image));
    const test::TempTree tree{{"program", bytes}};

    expect_little_memory_for("other", tree.path("program"));
    const Result<std::uint64_t> offset = symbol_offset(tree.path("program"), "other");
    ASSERT_FALSE(offset) << row.what;
    EXPECT_TRUE(offset.error().code == ENOENT || offset.error().code == EFBIG) << row.what;
  }
}

}  // namespace
}  // namespace pex::elf
