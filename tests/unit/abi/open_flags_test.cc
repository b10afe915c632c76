#include "abi/open_flags.h"

#include <fcntl.h>
#include <linux/perf_event.h>

#include <cstdint>

#include "perf/linux_perf_kernel.h"
#include "support/test_headers.h"

namespace pex::perf::open_flags_test {
namespace {

constexpr std::uint64_t kReadFormat = PERF_FORMAT_GROUP;
constexpr std::size_t kPage = 4096;

class OpenFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    first_ = open(PERF_COUNT_SW_DUMMY, {.pid = 0});
    if (!first_) GTEST_SKIP() << "the kernel opens no event here";
  }

  /// An event of the own thread.
  UniqueFd open(std::uint64_t config, const EventTarget& target, bool watches_tasks = false) {
    EventAttr attr;
    attr.size = kAttrSizeVer7;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = config;
    attr.read_format = kReadFormat;
    if (watches_tasks) attr.flags |= attr_flag(AttrFlag::kTask);
    Result<OpenCounter> counter = kernel_.open_event(attr, target);
    return counter ? std::move(counter->fd) : UniqueFd{};
  }

  /// Events that one read of it is about.
  std::uint64_t members_of(const UniqueFd& event) {
    std::array<std::uint64_t, 8> words{};
    EXPECT_TRUE(kernel_.read_group(event.get(), words));
    return words[0];
  }

  LinuxPerfKernel kernel_;
  UniqueFd first_;
};

TEST_F(OpenFlagsTest, FdNoGroupOpensAnEventThatIsNoMember) {
  const UniqueFd member = open(PERF_COUNT_SW_DUMMY, {.pid = 0, .group_fd = first_.get()});
  const UniqueFd other =
      open(PERF_COUNT_SW_DUMMY, {.pid = 0, .group_fd = first_.get(), .flags = kOpenFdNoGroup});

  ASSERT_TRUE(member && other);
  EXPECT_EQ(members_of(first_), 2U);
  EXPECT_EQ(members_of(other), 1U);
}

TEST_F(OpenFlagsTest, FdOutputWritesIntoTheRingOfAnother) {
  const Result<Mapping> ring = kernel_.map(first_.get(), 2 * kPage, 0, true);
  ASSERT_TRUE(ring) << errno_name(ring.error().code);
  const auto* page = reinterpret_cast<const perf_event_mmap_page*>(ring->data());
  EventTarget second{.pid = 0};  // of an event that writes into the ring of another one, first_fd
  second.flags = kOpenFdNoGroup | kOpenFdOutput;
  second.group_fd = first_.get();
  const UniqueFd writer = open(PERF_COUNT_SW_DUMMY, second, /*watches_tasks=*/true);
  ASSERT_TRUE(writer);

  const std::uint64_t before = page->data_head;
  std::thread([] {}).join();

  EXPECT_GT(page->data_head, before);  // a PERF_RECORD_FORK
}

TEST_F(OpenFlagsTest, EveryEventIsClosedByExec) {
  EXPECT_NE(::fcntl(first_.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(OpenFlagsExample, IsWhatItsHeaderShows) {
  const int first_fd = 3;
  EventTarget second;  // of an event that writes into the ring of another one, `first_fd`
  second.flags = kOpenFdNoGroup | kOpenFdOutput;
  second.group_fd = first_fd;
  EXPECT_EQ(second.flags, 3UL);
}

}  // namespace
}  // namespace pex::perf::open_flags_test
