#include "perf/abi.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "host/kernel_version.h"
#include "perf/record/branch_stack.h"
#include "perf/record/read_format.h"
#include "perf/record/sample_layout.h"
#include "perf/sampling_table.h"

namespace pex::perf {
namespace {

TEST(AbiTest, HasTheNamesAndReleasesOfTheDocument) {
  std::ifstream file{PEX_SOURCE_DIR "/docs/abi.md"};
  const std::string document{std::istreambuf_iterator<char>(file), {}};
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

}  // namespace
}  // namespace pex::perf
