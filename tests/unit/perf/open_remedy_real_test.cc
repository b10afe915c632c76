// Remedies as an operator follows them, with the real kernel: what it refused it then opens.

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iostream>
#include <limits>

#include "base/result.h"
#include "cgroup/hierarchy.h"
#include "host/permissions.h"
#include "perf/open_remedy.h"
#include "support/real_events.h"
#include "support/test_headers.h"

namespace pex::perf::open_remedy_real_test {
namespace {

constexpr std::uint64_t kInKernel = 0xffffffff81000000;
alignas(8) volatile std::uint64_t watched = 0;

/// A request that is refused, and what follows the remedy. `as_nobody`: with no rights until then.
struct Attempt {
  CounterRequest asked = {};
  void (*follow)(CounterRequest&) = [](CounterRequest&) {};
  bool as_nobody = false;
  bool without_descriptors = false;  ///< until the limit is raised
};

/// Nothing: what it takes is not here.
using Make = std::optional<Attempt> (*)();

struct TriedEntry {
  int code;
  RemedySubject subject;
  Make make;  ///< null: there is nothing to write in a request; then `why`
  const char* why = "";
};

CounterRequest in_this_thread(std::uint32_t type, std::uint64_t config = 0) {
  CounterRequest request;
  request.event.type = type;
  request.event.config = config;
  request.pid = 0;
  request.cpu = -1;
  return request;
}

CounterRequest page_faults() {
  return in_this_thread(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}

CounterRequest on_a_cpu(CounterRequest request) {
  request.pid = -1;
  request.cpu = 0;
  return request;
}

std::optional<std::uint32_t> number_in(const std::string& path) {
  const Result<std::int64_t> number = host::read_number_file(path);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

CounterRequest breakpoint_at(std::uint64_t address) {
  CounterRequest request = in_this_thread(PERF_TYPE_BREAKPOINT);
  request.event.config1 = address;
  request.event.config2 = 8;
  request.event.breakpoint = 2;  // HW_BREAKPOINT_W
  request.event.exclude_kernel = true;
  return request;
}

std::optional<Attempt> probe_of(const char* pmu, const char* place,
                                void (*follow)(CounterRequest&)) {
  const auto type = number_in("/sys/bus/event_source/devices/" + std::string(pmu) + "/type");
  if (!type) return {};
  CounterRequest request = on_a_cpu(in_this_thread(*type));
  request.event.probe = place;
  return Attempt{.asked = request, .follow = follow};
}

std::optional<Attempt> filtered() {
  auto id = number_in("/sys/kernel/tracing/events/sched/sched_switch/id");
  if (!id) id = number_in("/sys/kernel/debug/tracing/events/sched/sched_switch/id");
  if (!id) return {};
  CounterRequest request = on_a_cpu(in_this_thread(PERF_TYPE_TRACEPOINT, *id));
  request.event.filter = "prev_priority < 100";
  return Attempt{.asked = request,
                 .follow = [](CounterRequest& of) { of.event.filter = "prev_prio < 100"; }};
}

constexpr const char* kRights = "a right of the process, which the machine's owner grants";
constexpr const char* kMachine = "another machine, kernel or module";
constexpr const char* kUsers = "what other programs do";
constexpr const char* kGuess = "only its author knows what is meant";
constexpr const char* kNone = "nothing is to be done";

const std::vector<TriedEntry>& tried() {
  using enum RemedySubject;
  static const std::vector<TriedEntry> kTried = {
      {EACCES, kUprobe, nullptr, kRights},
      {EACCES, kOthersTask,
       [] {
         Attempt attempt{.asked = page_faults(), .as_nobody = true};
         attempt.asked.pid = 1;
         attempt.asked.event.exclude_kernel = true;
         return std::optional(attempt);
       }},
      {EACCES, kTaskEvent,
       [] {
         return std::optional(
             Attempt{.asked = page_faults(),
                     .follow = [](CounterRequest& of) { of.event.exclude_kernel = true; },
                     .as_nobody = true});
       }},
      {EACCES, kAny,
       [] { return std::optional(Attempt{.asked = on_a_cpu(page_faults()), .as_nobody = true}); }},
      {EPERM, kKernelBreakpoint, nullptr, kRights},
      {EPERM, kProbe, nullptr, kRights},
      {EPERM, kAny, nullptr, kRights},
      {ENOSYS, kAny, nullptr, kRights},
      {ENOENT, kUprobe,
       [] {
         return probe_of("uprobe", "/nonexistent", [](CounterRequest& of) {
           of.event.probe = std::filesystem::canonical("/proc/self/exe").string();
         });
       }},
      {ENOENT, kProbe,
       [] {
         return probe_of("kprobe", "no_such_function",
                         [](CounterRequest& of) { of.event.probe = "do_exit"; });
       }},
      {ENOENT, kCgroupEvent, nullptr, kMachine},
      {ENOENT, kPmuEvent, nullptr, kMachine},
      {ENOENT, kAny,
       [] { return std::optional(Attempt{.asked = in_this_thread(PERF_TYPE_SOFTWARE, 12345)}); }},
      {EOPNOTSUPP, kGuestEvent, nullptr, kMachine},
      {EOPNOTSUPP, kAny, nullptr, kMachine},
      {EINVAL, kFiltered, filtered},
      {EINVAL, kKernelBreakpointOfUser,
       [] {
         return std::optional(
             Attempt{.asked = breakpoint_at(kInKernel),
                     .follow = [](CounterRequest& of) { of.event.exclude_kernel = false; }});
       }},
      {EINVAL, kBreakpoint,
       [] {
         const auto at = reinterpret_cast<std::uintptr_t>(&watched);
         return std::optional(Attempt{.asked = breakpoint_at(at + 1),
                                      .follow = [](CounterRequest& of) { --of.event.config1; }});
       }},
      {EINVAL, kProbe, nullptr, kGuess},
      {EINVAL, kTracepoint, nullptr, kMachine},
      {EINVAL, kTaskPmuEvent, nullptr, kGuess},
      {EINVAL, kPmuEvent, nullptr, kGuess},
      {EINVAL, kAny, nullptr, kGuess},
      {E2BIG, kConfig3, nullptr, kMachine},
      {E2BIG, kProbe, nullptr, kGuess},
      {E2BIG, kAny, nullptr, kGuess},
      {EADDRNOTAVAIL, kProbe, nullptr, kGuess},
      {EILSEQ, kProbe, nullptr, kGuess},
      {ENOEXEC, kProbe, nullptr, kGuess},
      {kErrnoNotSupported, kProbe, nullptr, kGuess},
      {ENODATA, kPmuEvent, nullptr, kMachine},
      {EINTR, kTracepoint, nullptr, kUsers},
      {EINTR, kAny, nullptr, kNone},
      {EMFILE, kAny,
       [] { return std::optional(Attempt{.asked = page_faults(), .without_descriptors = true}); }},
      {ENFILE, kAny, nullptr, kUsers},
      {ENODEV, kAny, nullptr, kNone},
      {ESRCH, kTaskEvent,
       [] {
         Attempt attempt{.asked = page_faults(),
                         .follow = [](CounterRequest& of) { of.pid = ::getpid(); }};
         attempt.asked.pid = std::numeric_limits<int>::max();
         return std::optional(attempt);
       }},
      {EBUSY, kAny, nullptr, kUsers},
      {ENOSPC, kAny, nullptr, kUsers},
      {EBADF, kCgroupEvent,
       [] {
         Attempt attempt{.asked = on_a_cpu(page_faults()), .follow = [](CounterRequest& of) {
                           const auto found = cgroup::find_hierarchy({});
                           of.cgroup_fd = ::open((*found)->mount.c_str(), O_RDONLY | O_CLOEXEC);
                         }};
         attempt.asked.cgroup_fd = ::open("/", O_RDONLY | O_CLOEXEC);
         const auto found = cgroup::find_hierarchy({});
         return found && *found ? std::optional(attempt) : std::nullopt;
       }},
      {ENOMEM, kAny, nullptr, kUsers},
  };
  return kTried;
}

/// So long as it lives, this thread has the rights of nobody, or no free descriptor.
class Without {
 public:
  explicit Without(const Attempt& attempt) : is_nobody_(attempt.as_nobody) {
    if (is_nobody_) EXPECT_EQ(::setresuid(65534, 65534, 0), 0);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    if (attempt.without_descriptors) {
      const rlimit none{0, before_.rlim_max};
      ::setrlimit(RLIMIT_NOFILE, &none);
    }
  }
  ~Without() {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    if (is_nobody_) EXPECT_EQ(::setresuid(0, 0, 0), 0);
  }

 private:
  bool is_nobody_;
  rlimit before_{};
};

int code_of(PerfKernel& kernel, const CounterRequest& request) {
  const auto counter = kernel.open(request);
  return counter ? 0 : counter.error().code;
}

using OpenRemedyRealTest = test::RealEventsTest;

TEST_F(OpenRemedyRealTest, TheErrorDoesNotReturnWhenTheRemedyOfEachEntryIsFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user: NOT tested";
  for (const OpenRemedy& entry : open_remedies()) {
    const std::string name = errno_name(entry.code) + " " + std::string(name_of(entry.subject));
    const auto of = std::find_if(tried().begin(), tried().end(), [&](const TriedEntry& each) {
      return each.code == entry.code && each.subject == entry.subject;
    });
    ASSERT_NE(of, tried().end()) << "nobody has tried the remedy of " << name;
    const std::optional<Attempt> attempt = of->make == nullptr ? std::nullopt : of->make();
    if (!attempt) {
      std::cout << name << ": not tried here: " << (of->make == nullptr ? of->why : kMachine)
                << '\n';
      continue;
    }
    CounterRequest request = attempt->asked;
    {
      const Without without{*attempt};
      const int code = code_of(kernel_, request);
      EXPECT_EQ(open_error(code, "open it", request).cause, entry.cause)
          << name << errno_name(code);
    }
    attempt->follow(request);
    const bool is_still_nobody = attempt->as_nobody && request.event != attempt->asked.event;
    const Without without{{.as_nobody = is_still_nobody}};
    if (entry.remedy.text() == "remove it") continue;
    EXPECT_EQ(code_of(kernel_, request), 0) << name;
  }
}

}  // namespace
}  // namespace pex::perf::open_remedy_real_test
