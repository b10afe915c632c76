#include "base/wake_up.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace pex {
namespace {

/// A descriptor that is readable once it was written to.
class Readable {
 public:
  int fd() const { return fd_.get(); }
  void set() const {
    const std::uint64_t once = 1;
    ASSERT_EQ(::write(fd(), &once, sizeof once), static_cast<ssize_t>(sizeof once));
  }
  void take() const {
    std::uint64_t times = 0;
    ASSERT_EQ(::read(fd(), &times, sizeof times), static_cast<ssize_t>(sizeof times));
  }

 private:
  UniqueFd fd_{::eventfd(0, EFD_CLOEXEC)};
};

TEST(WakeUpTest, APostIsNotForgottenWhereverItArrives) {
  const Readable other;
  WakeUp wake;

  wake.post();
  EXPECT_EQ(wake.wait(), WakeUp::Cause::kPosted);
  wake.post();
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kPosted);
  wake.post();
  EXPECT_EQ(wake.wait(), WakeUp::Cause::kPosted);
  wake.post();
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kPosted);
}

TEST(WakeUpTest, ADescriptorThatIsReadableEndsTheWait) {
  const Readable other;
  WakeUp wake;

  other.set();
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kReadable);
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kReadable) << "as long as it is";
}

TEST(WakeUpTest, APostComesBeforeADescriptorThatIsAlwaysReadable) {
  const Readable other;
  WakeUp wake;

  other.set();
  wake.post();
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kPosted);
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kReadable);
}

TEST(WakeUpTest, APostFromAnotherThreadEndsEachKindOfWait) {
  constexpr int kRounds = 2000;
  const Readable never;
  WakeUp wake;
  std::atomic<int> posted = 0;

  std::thread poster{[&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (posted >= round) std::this_thread::yield();
      posted = round;
      wake.post();
      while (posted == round) std::this_thread::yield();
    }
  }};
  for (int round = 1; round <= kRounds; ++round) {
    EXPECT_EQ(wake.wait(round % 3 == 0 ? -1 : never.fd()), WakeUp::Cause::kPosted);
    EXPECT_EQ(posted, round);
    posted = -round;
  }
  poster.join();
}

}  // namespace
}  // namespace pex
