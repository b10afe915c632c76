#include "daemon/service/open_files.h"

#include <atomic>
#include <future>

#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using Count = std::optional<std::uint64_t>;

const OpenFiles::Clock::time_point kStart{std::chrono::hours{1}};

TEST(OpenFilesTest, AreThoseThatTheKernelReports) {
  OpenFiles files{{[] { return Count{7}; },
                   []() -> Count {
                     ADD_FAILURE() << "listed";
                     return {};
                   }}};

  EXPECT_EQ(files.read(kStart), 7U);
}

/// A kernel that does not tell, and a list that waits until it is let go.
class ListedFilesTest : public testing::Test {
 protected:
  Count read(std::chrono::seconds after) { return files_.read(kStart + after); }
  Count read_once_listed(std::chrono::seconds after, int lists) {
    Count files = read(after);
    while (files != static_cast<std::uint64_t>(100 * lists)) {
      std::this_thread::yield();
      files = read(after);
    }
    return files;
  }

  std::promise<void> go_;
  std::atomic<int> lists_ = 0;
  OpenFiles files_{{[] { return Count{}; },
                    [this, go = go_.get_future().share()] {
                      go.wait();
                      const int list = ++lists_;
                      return Count{static_cast<std::uint64_t>(100 * list)};
                    }}};
};

TEST_F(ListedFilesTest, AreNotKnownUntilTheyAreListedWithoutWaiting) {
  EXPECT_EQ(read(std::chrono::seconds{0}), std::nullopt);
  EXPECT_EQ(read(std::chrono::seconds{100}), std::nullopt);

  go_.set_value();
  EXPECT_EQ(read_once_listed(std::chrono::seconds{1}, 1), 100U);
}

TEST_F(ListedFilesTest, AreListedAgainAfterAMinute) {
  go_.set_value();
  (void)read(std::chrono::seconds{0});
  (void)read_once_listed(std::chrono::seconds{1}, 1);
  (void)read(std::chrono::seconds{59});
  EXPECT_EQ(lists_, 1);

  (void)read(std::chrono::seconds{60});

  EXPECT_EQ(read_once_listed(std::chrono::seconds{61}, 2), 200U);
}

TEST(ThisProcessTest, HasItsDescriptorsCounted) {
  OpenFiles files;

  Count known = files.read(kStart);
  while (!known) {
    std::this_thread::yield();
    known = files.read(kStart);
  }
  EXPECT_GE(*known, 3U);
}

}  // namespace
}  // namespace pex::daemon
