#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "abi/record/abi_entry.h"
#include "abi/record/branch_stack.h"
#include "abi/record/read_format.h"
#include "abi/record/sample_layout.h"
#include "abi/sampling_table.h"
#include "host/kernel_version.h"

namespace pex::perf {
namespace {

using ::testing::UnorderedElementsAreArray;

std::string abi_document() {
  std::ifstream file{PEX_SOURCE_DIR "/docs/abi.md"};
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The names of the rows below a heading, in their order.
std::vector<std::string> names_below(const std::string& heading, const std::string& document) {
  std::vector<std::string> names;
  std::istringstream lines{document.substr(document.find("\n## " + heading + "\n") + 1)};
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line) && !line.starts_with("## ")) {
    if (line.starts_with("| `")) names.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

TEST(AbiTest, HasTheNamesAndReleasesOfTheDocument) {
  const std::string document = abi_document();
  const auto compare = [&](const auto& table) {
    for (const auto& row : table) {
      if (row.abi.name == "aux_action") continue;  // the document has a row for each of its bits
      const std::string begin =
          "\n| `" + std::string(row.abi.name) + "` | " + std::string(row.abi.since) + " | ";
      EXPECT_NE(document.find(begin), document.npos) << "no row in docs/abi.md:" << begin;
      EXPECT_TRUE(host::parse_kernel_version(row.abi.since)) << begin;
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
