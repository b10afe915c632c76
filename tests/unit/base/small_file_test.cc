#include "base/small_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex {
namespace {

TEST(ReadSmallFileTest, GivesTheWholeContentWhateverItIs) {
  const std::string content = std::string(10'000, 'x') + '\0' + "\n\n";
  const test::TempTree tree{{"file", content}, {"empty", ""}};

  const Result<std::string> whole = read_small_file(tree.path("file"));
  const Result<std::string> nothing = read_small_file(tree.path("empty"));

  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, content);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, "");
}

TEST(ReadSmallFileTest, ReadsFilesWhoseSizeTheKernelDoesNotReport) {
  const Result<std::string> status = read_small_file("/proc/self/status");

  ASSERT_TRUE(status);
  EXPECT_TRUE(status->starts_with("Name:"));
}

TEST(ReadSmallFileTest, TakesAsManyBytesAsAreAllowedAndNotOneMore) {
  const test::TempTree tree{{"five", "12345"}};

  const Result<std::string> fits = read_small_file(tree.path("five"), 5);
  const Result<std::string> too_large = read_small_file(tree.path("five"), 4);

  ASSERT_TRUE(fits);
  EXPECT_EQ(*fits, "12345");
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, EFBIG);
}

TEST(ReadSmallFileTest, ReportsWhichFileAndWhyWhenItCannotBeRead) {
  const test::TempTree tree{{"directory/"}, {"file", ""}};
  struct Row {
    const char* path;
    int code;
  };
  const Row rows[] = {{"directory", EISDIR}, {"absent", ENOENT}, {"file/below", ENOTDIR}};

  for (const Row& row : rows) {
    const Result<std::string> text = read_small_file(tree.path(row.path));

    ASSERT_FALSE(text) << row.path;
    EXPECT_EQ(text.error().code, row.code) << row.path;
    EXPECT_EQ(text.error().attempted, "read '" + tree.path(row.path) + "'");
  }
}

// Who opens one of these to read it waits for another process, or never comes to an end.

void expect_refused(const std::string& path, const std::string& kind) {
  const Result<std::string> text = read_small_file(path, 64, "the configuration");

  ASSERT_FALSE(text) << path;
  EXPECT_EQ(text.error().code, EINVAL);
  EXPECT_EQ(text.error().attempted, "read the configuration '" + path + "', which is " + kind);
  EXPECT_THAT(text.error().remedy.text(), testing::HasSubstr("regular file"));
  const Result<UniqueFd> opened = open_regular_file(path);
  ASSERT_FALSE(opened) << path;
  EXPECT_EQ(opened.error().code, EINVAL);
}

TEST(ReadSmallFileTest, RefusesAFifoWithoutAWriterAndDoesNotWait) {
  const test::TempTree tree;
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("fifo", tree.path("link"));

  expect_refused(tree.path("fifo"), "a FIFO or pipe");
  expect_refused(tree.path("link"), "a FIFO or pipe");
}

TEST(ReadSmallFileTest, RefusesAPipeOfThisProcess) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reading{ends[0]};
  const UniqueFd writing{ends[1]};

  expect_refused("/dev/fd/" + std::to_string(reading.get()), "a FIFO or pipe");
}

TEST(ReadSmallFileTest, RefusesASocket) {
  const test::TempTree tree;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, tree.path("socket").c_str(), sizeof address.sun_path - 1);
  const UniqueFd bound{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  expect_refused(tree.path("socket"), "a socket");
}

TEST(ReadSmallFileTest, RefusesACharacterDevice) {
  expect_refused("/dev/zero", "a character device");
  expect_refused("/dev/null", "a character device");
}

TEST(ReadSmallFileTest, RefusesABlockDevice) {
  const test::TempTree tree;
  const dev_t no_driver = makedev(240, 0);  // for experimental use (devices.txt)
  if (::mknod(tree.path("disk").c_str(), S_IFBLK | 0600, no_driver) != 0) {
    GTEST_SKIP() << "mknod: " << std::strerror(errno) << "; needs CAP_MKNOD";
  }

  expect_refused(tree.path("disk"), "a block device");
}

TEST(ReadSmallFileTest, DoesNotWaitForWhoHasALeaseOnTheFile) {
  const test::TempTree tree{{"file", "text"}};
  const auto before = std::signal(SIGIO, SIG_IGN);  // tells the holder that somebody wants the file
  const UniqueFd holder{::open(tree.path("file").c_str(), O_RDWR | O_CLOEXEC)};
  if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
    GTEST_SKIP() << "F_SETLEASE: " << std::strerror(errno);
  }

  const Result<std::string> text = read_small_file(tree.path("file"));

  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, EAGAIN);
  std::signal(SIGIO, before);
}

TEST(ReadSmallFileTest, ReadsNoMixtureOfTwoVersionsWhileOneIsWritten) {
  constexpr std::size_t kBytes = 64 * 1024;
  test::TempTree tree;
  tree.write("config", std::string(kBytes, 'a'));
  const std::string path = tree.path("config");
  const UniqueFd written{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kQuick{200};
  int quick_writes = 0;
  std::atomic<bool> must_end = false;
  std::atomic<Clock::time_point> begun{}, ended{};  // of the last write
  std::thread writer([&] {
    for (int i = 1; !must_end; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      const std::string text(kBytes, i % 2 == 0 ? 'a' : 'b');
      begun = Clock::now();
      EXPECT_EQ(::pwrite(written.get(), text.data(), text.size(), 0), ssize_t{kBytes});
      ended = Clock::now();
      if (ended.load() - begun.load() <= kQuick) ++quick_writes;
    }
  });
  // Of a write that lost its CPU halfway, two readings get the same mixture.
  const auto stood_still = [&] {
    const Clock::time_point from = begun;
    const Clock::time_point to = ended;
    return (to > from ? to : Clock::now()) - from > kQuick;
  };
  const auto end = Clock::now() + std::chrono::seconds{1};
  while (Clock::now() < end) {
    const Result<std::string> read = read_small_file(path, kBytes, "the configuration");
    if (!read) {
      EXPECT_NE(read.error().attempted.find("which is written to at the moment"),
                std::string::npos);
      continue;
    }
    const bool is_whole = *read == std::string(kBytes, read->front());
    if (!is_whole && stood_still()) {
      std::cout << "disturbed: a write lost its CPU halfway\n";
      continue;
    }
    EXPECT_TRUE(is_whole);
  }
  must_end = true;
  writer.join();
  EXPECT_GT(quick_writes, 0) << "each write lost its CPU halfway";
}

TEST(WithoutFinalNewlineTest, TakesOneLineBreakAway) {
  EXPECT_EQ(without_final_newline("0-3\n"), "0-3");
  EXPECT_EQ(without_final_newline("0-3"), "0-3");
  EXPECT_EQ(without_final_newline("0-3\n\n"), "0-3\n");
  EXPECT_EQ(without_final_newline("\n"), "");
  EXPECT_EQ(without_final_newline(""), "");
}

TEST(ReadSmallFileTest, AFileInMemoryHasNoNameAndIsReadAllTheSame) {
  const UniqueFd file{::memfd_create("config", MFD_CLOEXEC)};
  ASSERT_EQ(::write(file.get(), "text", 4), 4);

  const auto text = read_small_file("/proc/self/fd/" + std::to_string(file.get()), 100, "the file");

  ASSERT_TRUE(text) << describe(text.error());
  EXPECT_EQ(*text, "text");
}

}  // namespace
}  // namespace pex
