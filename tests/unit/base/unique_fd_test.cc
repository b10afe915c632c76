#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace pex {
namespace {

int open_something() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFdTest, ClosesWhatItHoldsAtItsEnd) {
  const int fd = open_something();

  { const UniqueFd owner{fd}; }

  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFdTest, IsNoLongerTheOwnerAfterAMove) {
  const int fd = open_something();
  UniqueFd second;
  {
    UniqueFd first{fd};
    second = UniqueFd{std::move(first)};
  }

  EXPECT_TRUE(is_open(fd));
  second.reset();
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFdTest, DoesNotCloseANumberThatWasUsedAgain) {
  const int fd = open_something();
  UniqueFd first{fd};
  first.reset();
  const UniqueFd stranger{open_something()};
  ASSERT_EQ(stranger.get(), fd) << "the kernel hands out the lowest free number";

  first.reset();
  { const UniqueFd moved{std::move(first)}; }

  EXPECT_TRUE(is_open(fd));
}

TEST(UniqueFdTest, ClosesWhatItHeldWhenAnotherIsMovedIn) {
  const int kept = open_something();
  const int replaced = open_something();
  UniqueFd owner{replaced};

  owner = UniqueFd{kept};

  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(kept));
  EXPECT_EQ(owner.get(), kept);
}

TEST(UniqueFdTest, KeepsItsDescriptorWhenMovedIntoItself) {
  UniqueFd owner{open_something()};
  UniqueFd& itself = owner;

  owner = std::move(itself);

  EXPECT_TRUE(is_open(owner.get()));
}

TEST(UniqueFdTest, LeavesClosingToTheCallerAfterRelease) {
  UniqueFd owner{open_something()};

  const int fd = owner.release();
  owner.reset();

  EXPECT_TRUE(is_open(fd));
  EXPECT_EQ(::close(fd), 0);
}

}  // namespace
}  // namespace pex
