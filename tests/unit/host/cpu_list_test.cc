#include "host/cpu_list.h"

#include <cerrno>

#include "support/test_headers.h"

namespace pex::host {
namespace {

using Cpus = std::vector<int>;

TEST(ParseCpuListTest, TakesTheKernelsListForm) {
  struct Row {
    const char* text;
    Cpus cpus;
  };
  const Row rows[] = {
      {"", {}},
      {" \t", {}},
      {"0", {0}},
      {"0-3,8", {0, 1, 2, 3, 8}},
      {"8,0-1", {0, 1, 8}},
      {"0-2,1-3,3", {0, 1, 2, 3}},
      {"5-5", {5}},
      {"65535", {65535}},
      {" 0-1 ", {0, 1}},
  };

  for (const Row& row : rows) {
    const Result<Cpus> cpus = parse_cpu_list(row.text);

    ASSERT_TRUE(cpus) << "'" << row.text << "'";
    EXPECT_EQ(*cpus, row.cpus) << "'" << row.text << "'";
  }
}

void expect_refused(const std::string& text) {
  const Result<Cpus> cpus = parse_cpu_list(text);

  ASSERT_FALSE(cpus) << "'" << text << "'";
  EXPECT_EQ(cpus.error().code, EINVAL);
  EXPECT_THAT(cpus.error().attempted, ::testing::HasSubstr("'" + text + "'"));
}

TEST(ParseCpuListTest, RefusesEverythingElse) {
  const char* const other_forms[] = {",",   "0,",  ",0",      "0,,1",  "-",       "0-",
                                     "-3",  "3-1", "0-9,3-1", "1-2-3", "0x3",     "a",
                                     "0-a", "0 1", "0, 1",    "0-3\n", "0-3:1/2", "all"};
  const char* const too_large[] = {"0-65536", "65536", "18446744073709551616",
                                   "0-18446744073709551615"};

  for (const char* text : other_forms) expect_refused(text);
  for (const char* text : too_large) expect_refused(text);
}

TEST(ParseCpuListTest, RefusesAListThatRepeatsItselfInsteadOfFillingTheMemory) {
  std::string text = "0-65535";
  for (int i = 0; i < 8000; ++i) text += ",0-65535";

  const Result<Cpus> cpus = parse_cpu_list(text);

  EXPECT_FALSE(cpus);
}

TEST(FormatCpuListTest, IsTheShortestForm) {
  EXPECT_EQ(format_cpu_list({}), "");
  EXPECT_EQ(format_cpu_list({0}), "0");
  EXPECT_EQ(format_cpu_list({0, 1}), "0-1");
  EXPECT_EQ(format_cpu_list({0, 1, 2, 8}), "0-2,8");
  EXPECT_EQ(format_cpu_list({1, 3, 5}), "1,3,5");
}

RC_GTEST_PROP(FormatCpuListTest, IsReadBackAsTheSameCpus, ()) {
  const auto chosen = *rc::gen::container<std::set<int>>(
      rc::gen::oneOf(rc::gen::inRange(0, 64), rc::gen::inRange(0, 65536)));
  const Cpus cpus{chosen.begin(), chosen.end()};

  const Result<Cpus> read_back = parse_cpu_list(format_cpu_list(cpus));

  RC_ASSERT(read_back.has_value());
  RC_ASSERT(*read_back == cpus);
}

RC_GTEST_PROP(ParseCpuListTest, GivesRisingCpusOrAnErrorForAnyText, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123789,- ")));

  const Result<Cpus> cpus = parse_cpu_list(text);

  if (!cpus) return;
  for (std::size_t i = 1; i < cpus->size(); ++i) RC_ASSERT((*cpus)[i - 1] < (*cpus)[i]);
}

TEST(NameCpusTest, HasTheNounInItsNumber) {
  EXPECT_EQ(name_cpus({3}), "CPU 3");
  EXPECT_EQ(name_cpus({0, 1, 8}), "CPUs 0-1,8");
}

}  // namespace
}  // namespace pex::host
