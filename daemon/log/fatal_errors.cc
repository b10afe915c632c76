#include "daemon/log/fatal_errors.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>

#include "daemon/cli/options.h"
#include "daemon/cli/version.h"
#include "daemon/log/stderr_text.h"

namespace pex::daemon {
namespace {

constexpr std::chrono::milliseconds kStderrTimeout{200};
constexpr std::size_t kMaxLine = 1024;

constexpr const char* kOutOfMemory =
    "out of memory, the program ends. Remedy: raise MemoryMax= in the unit or the container's "
    "limit "
    "on memory, or select fewer cgroups or events";
constexpr const char* kCrash = "the program ends because of a signal: ";
constexpr const char* kUnhandled = "the program ends because of an unhandled exception: ";

std::atomic<bool> is_json = false;
std::atomic_flag is_ending = ATOMIC_FLAG_INIT;

/// std::gmtime may read a file and allocate.
int print_time(char* place, std::size_t size) {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date{day};
  const hh_mm_ss time{now - day};
  return std::snprintf(
      place, size, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
}

/// Escaped for quotes, in both formats.
void make_plain(char* text) {
  for (; *text != '\0'; ++text) {
    const bool is_plain = *text >= ' ' && *text <= '~' && *text != '"' && *text != '\\';
    if (!is_plain) *text = '?';
  }
}

void write_line(const char* message, const char* detail) {
  char time[64];
  (void)print_time(time, sizeof time);
  char what[kMaxLine / 2];
  std::snprintf(what, sizeof what, "%s%s", message, detail);
  make_plain(what);
  char line[kMaxLine];
  const char* format = is_json ? "{\"ts\":\"%s\",\"level\":\"error\",\"msg\":\"%s\"}\n"
                               : "ts=%s level=error msg=\"%s\"\n";
  std::snprintf(line, sizeof line, format, time, what);
  (void)write_to_stderr_within(kStderrTimeout, line);
}

[[noreturn]] void end_with(const char* message, const char* detail) {
  while (is_ending.test_and_set()) ::pause();  // another thread ends the program
  write_line(message, detail);
  ::_exit(kUnable);
}

/// The signal has its default action by now, and comes again when the handler returns. One that a
/// process has sent, as systemd's watchdog does, has no address (sigaction(2), si_code).
void report_crash(int number, siginfo_t* info, void*) {
  char thread[16 + 1] = {};
  (void)::prctl(PR_GET_NAME, thread);
  char cause[64];
  if (info->si_code > 0) {
    std::snprintf(cause, sizeof cause, "at address %p: a defect of it", info->si_addr);
  } else {
    std::snprintf(cause, sizeof cause, "sent by process %d", static_cast<int>(info->si_pid));
  }
  char detail[256];
  std::snprintf(detail, sizeof detail,
                "SIG%s in thread '%s' %s (version %s). Remedy: report this line, with what "
                "'coredumpctl info' prints",
                ::sigabbrev_np(number), thread, cause, kVersion);
  if (!is_ending.test_and_set()) write_line(kCrash, detail);
  (void)::raise(number);
}

/// A sanitizer has handlers of its own.
void report_crashes() {
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction now {};
    if (::sigaction(fault, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    now.sa_sigaction = report_crash;
    now.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND);
    (void)::sigaction(fault, &now, nullptr);
  }
}

[[noreturn]] void end_without_memory() { end_with(kOutOfMemory, ""); }

[[noreturn]] void end_unhandled() {
  const std::exception_ptr unhandled = std::current_exception();
  if (!unhandled) end_with(kUnhandled, "std::terminate was called");
  try {
    std::rethrow_exception(unhandled);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& error) {
    end_with(kUnhandled, error.what());
  } catch (...) {
    end_with(kUnhandled, "an exception of unknown type");
  }
}

}  // namespace

void install_fatal_error_handlers(LogFormat format) {
  is_json = format == LogFormat::kJson;
  std::set_new_handler(end_without_memory);
  std::set_terminate(end_unhandled);
  report_crashes();
}

}  // namespace pex::daemon
