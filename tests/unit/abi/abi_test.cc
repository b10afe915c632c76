
#include <cstddef>
#include <iterator>

#include "abi/record/abi_entry.h"
#include "abi/record/branch_stack.h"
#include "abi/record/read_format.h"
#include "abi/record/sample_layout.h"
#include "abi/sampling_table.h"
#include "host/kernel_version.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using ::testing::Contains;
using ::testing::UnorderedElementsAreArray;

std::string abi_document() {
  std::ifstream file{PEX_SOURCE_DIR "/docs/development/abi.md"};
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A name, and the release of Linux that introduced it.
using NamedRelease = std::pair<std::string, std::string>;

/// Those of one line of a table: "| 3.16 | `mmap2` `comm_exec` |". Other lines have none.
std::vector<NamedRelease> releases_of(const std::string& line) {
  std::vector<NamedRelease> rows;
  if (!line.starts_with("| ")) return rows;
  const std::string since = line.substr(2, line.find(' ', 2) - 2);
  if (!host::parse_kernel_version(since)) return rows;
  std::size_t begin = line.find('`');
  while (begin != line.npos) {
    const std::size_t end = line.find('`', begin + 1);
    if (end == line.npos) break;
    rows.emplace_back(line.substr(begin + 1, end - begin - 1), since);
    begin = line.find('`', end + 1);
  }
  return rows;
}

std::vector<NamedRelease> all_releases(const std::string& document) {
  std::vector<NamedRelease> all;
  std::istringstream lines{document};
  for (std::string line; std::getline(lines, line);) {
    for (NamedRelease& row : releases_of(line)) all.push_back(std::move(row));
  }
  return all;
}

std::vector<std::string> names_below(const std::string& heading, const std::string& document) {
  const std::size_t begin = document.find("\n## " + heading + "\n") + 1;
  const std::size_t end = document.find("\n## ", begin);
  std::vector<std::string> names;
  for (const NamedRelease& row : all_releases(document.substr(begin, end - begin))) {
    names.push_back(row.first);
  }
  return names;
}

TEST(AbiTest, HasTheNamesAndReleasesOfTheDocument) {
  const std::vector<NamedRelease> rows = all_releases(abi_document());
  const auto compare = [&](const auto& table) {
    for (const auto& entry : table) {
      if (entry.abi.name == "aux_action") continue;  // the document has the names of its bits
      EXPECT_THAT(rows, Contains(NamedRelease(entry.abi.name, entry.abi.since)));
      EXPECT_TRUE(host::parse_kernel_version(entry.abi.since)) << entry.abi.since;
    }
  };

  compare(attr_flags());
  compare(aux_actions());
  compare(attr_numbers());
  compare(sample_fields());
  compare(read_formats());
  compare(branch_options());
}

TEST(AbiTest, HasAllBitsOfTheDocument) {
  const std::string document = abi_document();
  const auto compare = [&](const std::string& heading, const auto& table) {
    std::vector<std::string> names;
    for (const auto& row : table) names.emplace_back(row.abi.name);
    EXPECT_THAT(names_below(heading, document), UnorderedElementsAreArray(names)) << heading;
  };

  compare("Read formats", read_formats());
  compare("Fields of samples", sample_fields());
  compare("Branches", branch_options());
}

}  // namespace
}  // namespace pex::perf
