#include "base/remedy.h"

#include <gtest/gtest.h>

#include <string>

namespace pex {
namespace {

std::string_view shouted(ProgramTerm term) {
  return term == ProgramTerm::kOpenFileLimit ? "LIMIT" : "TERM";
}

TEST(RemedyTest, IsWordedByTheProgram) {
  const Remedy remedy = "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n";

  EXPECT_EQ(remedy.text(shouted), "raise LIMIT, or ulimit -n");
  EXPECT_EQ(remedy.text(), "raise RLIMIT_NOFILE, or ulimit -n");
}

TEST(RemedyTest, CanBeAddedToItself) {
  Remedy remedy = "a" + ProgramTerm::kSysfs;

  remedy += remedy;

  EXPECT_EQ(remedy, "a" + ProgramTerm::kSysfs + "a" + ProgramTerm::kSysfs);
}

}  // namespace
}  // namespace pex
