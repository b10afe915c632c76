#include "daemon/log/fatal_errors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <thread>

#include "daemon/cli/options.h"

namespace pex::daemon {
namespace {

using ::testing::ExitedWithCode;

void throw_unhandled() {
  std::thread{[] { throw std::runtime_error("no \"x\"\x1b[2J"); }}.join();
}

/// The operator new of a sanitizer asks no handler, so there it is called as operator new does.
void run_out_of_memory() {
#if defined(PEX_SANITIZED)
  std::get_new_handler()();
#else
  volatile std::size_t size = std::size_t{1} << 62;
  ::operator delete(::operator new(size));
#endif
}

/// A pipe behind stderr that has no room.
void fill_stderr() {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  char block[4096] = {};
  while (::write(ends[1], block, sizeof block) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  ::dup2(ends[1], STDERR_FILENO);
}

/// The program that ends is started again for that, as a copy of a process with threads may start
/// no thread under ThreadSanitizer, and other tests may have left some.
class FatalErrorsTest : public ::testing::Test {
 protected:
  FatalErrorsTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FatalErrorsTest, AnUnhandledExceptionIsReportedAndEndsTheProgram) {
  EXPECT_EXIT((install_fatal_error_handlers(LogFormat::kLogfmt), throw_unhandled()),
              ExitedWithCode(kUnable),
              "^ts=....-..-..T..:..:..[.]...Z level=error msg=\"the program ends because of an "
              "unhandled exception: no [?]x[?][?].2J\"\n$");
}

TEST_F(FatalErrorsTest, ADefectIsReportedWithItsThreadAndAddressAndEndsTheProgramByItsSignal) {
  EXPECT_EXIT((install_fatal_error_handlers(LogFormat::kLogfmt), __builtin_trap()),
              ::testing::KilledBySignal(SIGILL),
              "level=error msg=\"the program ends because of a signal: SIGILL in thread '.*' at "
              "address 0x[0-9a-f]+: a defect of it [(]version .*[)]. Remedy: ");
}

TEST_F(FatalErrorsTest, ASignalThatAProcessHasSentIsReportedWithItsNumber) {
  EXPECT_EXIT((install_fatal_error_handlers(LogFormat::kLogfmt), ::raise(SIGILL)),
              ::testing::KilledBySignal(SIGILL), "SIGILL in thread '.*' sent by process [0-9]+ ");
}

TEST_F(FatalErrorsTest, LackOfMemoryIsReportedAndEndsTheProgram) {
  EXPECT_EXIT((install_fatal_error_handlers(LogFormat::kJson), run_out_of_memory()),
              ExitedWithCode(kUnable),
              "^.\"ts\":\"[^\"]*Z\",\"level\":\"error\",\"msg\":\"out of memory, [^\"]*Remedy: "
              "[^\"]*\".\n$");
}

TEST_F(FatalErrorsTest, AFullStderrDoesNotKeepTheProgramFromEnding) {
  EXPECT_EXIT(
      (install_fatal_error_handlers(LogFormat::kLogfmt), fill_stderr(), run_out_of_memory()),
      ExitedWithCode(kUnable), "");
}

}  // namespace
}  // namespace pex::daemon
