#include "perf/task/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <future>

#include "base/small_file.h"
#include "support/patience.h"
#include "support/results.h"
#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::perf {
namespace {

using test::FailsWith;
using test::Holds;

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

/// Prepared, started and ended.
Result<CommandEnd> run(const std::vector<std::string>& arguments) {
  Result<Command> command = Command::prepare(arguments);
  if (!command) return command.error();
  if (const Result<> started = command->start(); !started) return started.error();
  return command->wait();
}

Command prepared(const std::vector<std::string>& arguments) {
  Result<Command> command = Command::prepare(arguments);
  EXPECT_TRUE(command);
  return *std::move(command);
}

Command started(const std::vector<std::string>& arguments) {
  Command command = prepared(arguments);
  EXPECT_TRUE(command.start());
  return command;
}

bool is_there(int pid) { return ::kill(pid, 0) == 0; }

/// Signals that a process blocks or ignores, as /proc has them: "SigBlk" or "SigIgn".
std::uint64_t signals_of(int pid, const std::string& set) {
  const Result<std::string> status = read_small_file("/proc/" + std::to_string(pid) + "/status");
  if (!status) return ~std::uint64_t{0};
  const std::size_t at = status->find(set + ":\t");
  return std::stoull(status->substr(at + set.size() + 2), nullptr, 16);
}

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }

/// The action of a signal until the end of the scope.
class Action {
 public:
  Action(int signal, void (*handler)(int)) : signal_(signal), before_(::signal(signal, handler)) {}
  Action(const Action&) = delete;
  Action& operator=(const Action&) = delete;
  ~Action() { ::signal(signal_, before_); }

 private:
  int signal_;
  void (*before_)(int);
};

TEST(CommandExample, IsWhatItsHeaderShows) {
  Result<Command> command = Command::prepare({"sh", "-c", "exit 3"});
  ASSERT_TRUE(command);
  // Here counters are opened in command->pid(), to be enabled by its exec.
  ASSERT_TRUE(command->start());
  const Result<CommandEnd> end = command->wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->shell_status(), 3);
}

TEST(CommandTest, ExecutesNothingBeforeItIsStarted) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // inherited
  const UniqueFd reads{ends[0]};
  UniqueFd writes{ends[1]};
  Command command = prepared(shell("echo x >&" + std::to_string(writes.get())));
  pollfd readable{reads.get(), POLLIN, 0};

  EXPECT_EQ(::poll(&readable, 1, 50), 0);
  ASSERT_TRUE(command.start());
  EXPECT_EQ(::poll(&readable, 1, 30'000), 1);
  EXPECT_EQ(command.wait()->shell_status(), 0);
}

/// One by each of so many threads, all at once.
std::vector<std::optional<Command>> prepare_at_once(std::size_t count) {
  std::vector<std::optional<Command>> commands(count);
  std::barrier begin{static_cast<std::ptrdiff_t>(count)};
  std::vector<std::thread> threads;
  for (std::optional<Command>& made : commands) {
    threads.emplace_back([&] {
      begin.arrive_and_wait();
      Result<Command> command = Command::prepare({"true"});
      if (command) made = *std::move(command);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return commands;
}

TEST(CommandTest, IsStartedWhileOthersWaitThatWerePreparedAtTheSameTime) {
  test::run_rounds(50, [](unsigned) {
    std::vector<std::optional<Command>> commands = prepare_at_once(4);
    ASSERT_TRUE(commands[0]);
    std::future<bool> started =
        std::async(std::launch::async, [&] { return bool{commands[0]->start()}; });

    const std::future_status status = started.wait_for(test::kPatience);
    for (std::size_t other = 1; other < commands.size(); ++other) commands[other].reset();

    ASSERT_EQ(status, std::future_status::ready);
    EXPECT_TRUE(started.get());
  });
}

TEST(CommandTest, HasTheExitStatusOfTheProgram) {
  EXPECT_EQ(*run({"true"}), (CommandEnd{0, 0}));
  EXPECT_EQ(*run({"false"}), (CommandEnd{1, 0}));
  EXPECT_EQ(*run(shell("exit 255")), (CommandEnd{255, 0}));
}

TEST(CommandTest, HasTheSignalThatEndedTheProgram) {
  const Result<CommandEnd> end = run(shell("kill -TERM $$"));

  ASSERT_THAT(end, Holds((CommandEnd{0, SIGTERM})));
  EXPECT_EQ(end->shell_status(), 128 + SIGTERM);
}

TEST(CommandTest, ReportsWhyTheProgramCannotBeExecuted) {
  const Result<CommandEnd> missing = run({"/nonexistent/program"});
  const Result<CommandEnd> no_program = run({"/etc/passwd"});

  ASSERT_THAT(missing, FailsWith(ENOENT));
  EXPECT_EQ(missing.error().attempted, "execute '/nonexistent/program'");
  EXPECT_THAT(no_program, FailsWith(EACCES));
}

TEST(CommandTest, HasEndedWhenItsProgramCannotBeExecuted) {
  Command command = prepared({"/nonexistent/program"});

  EXPECT_FALSE(command.start());
  EXPECT_FALSE(is_there(command.pid()));
}

TEST(CommandTest, IsStartedOnce) {
  Command command = started({"true"});

  EXPECT_THAT(command.start(), FailsWith(EALREADY));
  EXPECT_EQ(command.wait()->shell_status(), 0);
}

TEST(CommandTest, NeedsAProgram) { EXPECT_THAT(Command::prepare({}), FailsWith(EINVAL)); }

TEST(CommandTest, ThatIsNeverStartedEndsWithItsObjectAndLeavesNoZombie) {
  int pid = 0;
  {
    const Command command = prepared({"true"});
    pid = command.pid();
    EXPECT_TRUE(is_there(pid));
  }
  EXPECT_FALSE(is_there(pid));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
}

TEST(CommandTest, ThatRunsEndsWithItsObject) {
  int pid = 0;
  {
    const Command command = started({"sleep", "1000"});
    pid = command.pid();
  }
  EXPECT_FALSE(is_there(pid));
}

TEST(CommandTest, ThatIsMovedStaysOneProcess) {
  Command first = prepared({"true"});
  Command second = prepared({"true"});
  const int replaced = first.pid();
  const int kept = second.pid();

  first = std::move(second);

  EXPECT_FALSE(is_there(replaced));
  EXPECT_EQ(first.pid(), kept);
  ASSERT_TRUE(first.start());
  EXPECT_EQ(first.wait()->shell_status(), 0);
}

TEST(CommandTest, ThatIsKilledWhileItWaitsHasThatEnd) {
  Command command = prepared({"true"});

  EXPECT_TRUE(command.send_signal(SIGKILL));
  ASSERT_TRUE(command.start());  // nothing refused it

  EXPECT_EQ(*command.wait(), (CommandEnd{0, SIGKILL}));
}

TEST(CommandTest, ThatHasNotEndedHasNoEndYet) {
  Command command = started({"sleep", "1000"});

  const Result<std::optional<CommandEnd>> before = command.poll_end();
  EXPECT_TRUE(command.send_signal(SIGINT));
  const Result<CommandEnd> end = command.wait();
  const Result<std::optional<CommandEnd>> after = command.poll_end();

  ASSERT_TRUE(before && end && after);
  EXPECT_FALSE(*before);
  EXPECT_EQ(*end, (CommandEnd{0, SIGINT}));
  EXPECT_EQ(*after, *end);
}

TEST(CommandTest, ThatHasEndedGetsNoSignals) {
  Command command = started({"true"});
  ASSERT_TRUE(command.wait());

  const Result<> sent = command.send_signal(SIGKILL);  // another process may have its number

  EXPECT_THAT(sent, FailsWith(ESRCH));
  EXPECT_EQ(command.wait()->shell_status(), 0);
}

/// Runs a program, gives up the right to send it signals and then destroys its object. Returns the
/// pid of the program, or -1.
int run_as_another_user() {
  Result<Command> command = Command::prepare({"sleep", "30"});
  if (!command || !command->start()) return -1;
  constexpr uid_t kNobody = 65534;
  if (::setresuid(kNobody, kNobody, kNobody) != 0) return -1;
  const Result<> sent = command->send_signal(SIGTERM);
  return !sent && sent.error().code == EPERM ? command->pid() : -1;
}

TEST(CommandTest, ThatMayNotBeKilledIsLeftRunning) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reads{ends[0]};
  const UniqueFd writes{ends[1]};
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const int left = run_as_another_user();
    ::_exit(::write(writes.get(), &left, sizeof left) == sizeof left ? 0 : 1);
  }

  pollfd readable{reads.get(), POLLIN, 0};
  const int ready = ::poll(&readable, 1, 10'000);
  int left = -1;
  const ssize_t got = ready == 1 ? ::read(reads.get(), &left, sizeof left) : 0;
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);

  ASSERT_EQ(ready, 1) << "its destructor still waits";
  ASSERT_EQ(got, ssize_t{sizeof left});
  ASSERT_GT(left, 0);
  EXPECT_EQ(::kill(left, SIGKILL), 0);
}

TEST(CommandTest, IsNotWaitedForBeforeItIsStarted) {
  Command command = prepared({"true"});

  EXPECT_THAT(command.wait(), FailsWith(EINVAL));
  ASSERT_TRUE(command.start());
  EXPECT_EQ(command.wait()->shell_status(), 0);
}

TEST(CommandTest, HasADescriptorThatIsReadableAtItsEnd) {
  Command command = prepared({"sleep", "1000"});
  if (command.end_fd() < 0) GTEST_SKIP() << "this kernel has no pidfd_open";
  ASSERT_TRUE(command.start());
  pollfd ended{command.end_fd(), POLLIN, 0};

  EXPECT_EQ(::poll(&ended, 1, 20), 0);
  EXPECT_TRUE(command.send_signal(SIGTERM));
  EXPECT_EQ(::poll(&ended, 1, 30'000), 1);
}

TEST(CommandTest, HasTheCpuTimeOfTheProgramAndOfItsChildren) {
  Command sleeper = started({"sleep", "0.2"});
  Command worker =
      started(shell("sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true"));
  ASSERT_TRUE(sleeper.wait() && worker.wait());

  EXPECT_LT(sleeper.cpu_time(), std::chrono::milliseconds{100});
  EXPECT_GT(worker.cpu_time(), std::chrono::milliseconds{10});
}

TEST(CommandTest, FailsWhenItsEndWasTakenElsewhere) {
  Command command = started({"true"});
  ASSERT_EQ(::waitpid(command.pid(), nullptr, 0), command.pid());

  EXPECT_THAT(command.wait(), FailsWith(ECHILD));
}

TEST(CommandTest, GetsNoBlockedSignalsAndTheDefaultActionOfSigpipe) {
  const Action ignored_pipe{SIGPIPE, SIG_IGN};
  const Action ignored_hangup{SIGHUP, SIG_IGN};  // as by nohup(1)
  const Action handled{SIGUSR1, [](int) {}};
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigaddset(&blocked, SIGUSR2);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Result<Command> command = Command::prepare({"sleep", "1000"});
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(command);
  ASSERT_TRUE(command->start());

  const std::uint64_t ignored = signals_of(command->pid(), "SigIgn");
  EXPECT_EQ(signals_of(command->pid(), "SigBlk"), 0U);
  EXPECT_EQ(ignored & bit(SIGPIPE), 0U);
  EXPECT_NE(ignored & bit(SIGHUP), 0U);
  EXPECT_TRUE(command->send_signal(SIGTERM));
  EXPECT_EQ(command->wait()->signal, SIGTERM);
}

TEST(CommandTest, LeavesTheSignalsOfThisThreadAsTheyWere) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  { const Result<Command> command = Command::prepare({"true"}); }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);

  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(::sigismember(&before, signal), ::sigismember(&after, signal)) << signal;
  }
}

TEST(CommandTest, ThatWaitsEndsWithThisProcess) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reads{ends[0]};
  UniqueFd writes{ends[1]};
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    // Its end of the pipe closes with the last of both processes, as nothing is executed.
    const Result<Command> command = Command::prepare({"true"});
    ::_exit(command ? 0 : 1);  // without destructors
  }
  writes.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(WEXITSTATUS(status), 0);

  pollfd closed{reads.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 30'000), 1);
  EXPECT_NE(closed.revents & POLLHUP, 0);
}

TEST(CommandTest, LeavesNoDescriptorInTheProgram) {
  Command one = prepared(shell("exit $(ls /proc/self/fd | wc -l)"));
  Command two = prepared(shell("exit $(ls /proc/self/fd | wc -l)"));
  ASSERT_TRUE(one.start());
  ASSERT_TRUE(two.start());

  const int through_system = WEXITSTATUS(std::system("exit $(ls /proc/self/fd | wc -l)"));
  EXPECT_EQ(one.wait()->status, through_system);
  EXPECT_EQ(two.wait()->status, through_system);
}

}  // namespace
}  // namespace pex::perf
