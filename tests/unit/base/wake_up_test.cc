#include "base/wake_up.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "support/few_descriptors.h"
#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex {
namespace {

using namespace std::chrono_literals;

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

TEST(WakeUpTest, WaitsNoLongerThanItMay) {
  const Readable other;
  WakeUp wake;
  for (const int fd : {-1, other.fd()}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(wake.wait(fd, 20ms), WakeUp::Cause::kTimeout);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
    EXPECT_EQ(wake.wait(fd, 0ms), WakeUp::Cause::kTimeout);
    EXPECT_EQ(wake.wait(fd, -1ms), WakeUp::Cause::kTimeout);
    wake.post();
    EXPECT_EQ(wake.wait(fd, 1h), WakeUp::Cause::kPosted);
  }
  other.set();
  EXPECT_EQ(wake.wait(other.fd(), 1h), WakeUp::Cause::kReadable);
}

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

TEST(WakeUpTest, ADescriptorEndsEachWaitAsLongAsItIsReadableButAPostComesFirst) {
  const Readable other;
  WakeUp wake;

  other.set();
  wake.post();
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kPosted);
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kReadable);
  EXPECT_EQ(wake.wait(other.fd()), WakeUp::Cause::kReadable);
}

TEST(WakeUpTest, APostFromAnotherThreadEndsEachKindOfWait) {
  const Readable never;
  WakeUp wake;
  std::atomic<int> asked = 0;
  std::atomic<int> posted = 0;
  std::atomic<bool> is_over = false;

  std::thread poster{[&] {
    while (!is_over) {
      if (posted == asked) {
        std::this_thread::yield();
        continue;
      }
      ++posted;
      wake.post();
    }
  }};
  test::run_rounds(2000, [&](unsigned round) {
    ++asked;
    EXPECT_EQ(wake.wait(round % 3 == 0 ? -1 : never.fd()), WakeUp::Cause::kPosted);
    EXPECT_EQ(posted, asked);
  });
  is_over = true;
  poster.join();
}

TEST(WakeUpTest, WithoutADescriptorOfItsOwnPostsArriveAndTheOtherIsLookedAtEverySoOften) {
  const Readable never;
  WakeUp wake;
  {
    const test::FewDescriptors none{0};

    EXPECT_EQ(wake.wait(never.fd()), WakeUp::Cause::kReadable) << "it may be, so the caller looks";
    wake.post();
    EXPECT_EQ(wake.wait(never.fd()), WakeUp::Cause::kPosted);
  }
  std::thread poster{[&] { wake.post(); }};
  EXPECT_EQ(wake.wait(never.fd()), WakeUp::Cause::kPosted) << "with one, once there are some";
  poster.join();
}

}  // namespace
}  // namespace pex
