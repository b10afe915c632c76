#include "bench/switch/ping_pong.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>

#include "bench/support/cgroup_tree.h"
#include "host/self_process.h"

namespace pex::bench {
namespace {

/// Before so many round trips are measured, a half of them is played: the CPU wakes up, and its
/// caches get used to the counters just opened.
constexpr std::size_t kWarmUpShare = 2;

struct Order {
  Partner partner{};
  std::size_t round_trips = 0;
};

struct Pipe {
  UniqueFd from;
  UniqueFd to;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{errno, "make a pipe", {}};
  return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

/// The other player, as the first one sees it.
struct Opponent {
  pid_t process = -1;
  Pipe pipe;
};

bool pass(const UniqueFd& to) {
  const char byte = 0;
  return ::write(to.get(), &byte, 1) == 1;
}

bool await(const UniqueFd& from) {
  char byte = 0;
  return ::read(from.get(), &byte, 1) == 1;
}

void return_all(const Pipe& pipe) {
  while (await(pipe.from) && pass(pipe.to)) {
  }
}

bool play(const Opponent& opponent, std::size_t round_trips) {
  for (; round_trips > 0; --round_trips) {
    if (!pass(opponent.pipe.to) || !await(opponent.pipe.from)) return false;
  }
  return true;
}

/// Exact for a process that sleeps, and for oneself.
std::chrono::nanoseconds cpu_time(pid_t process) {
  clockid_t clock{};
  timespec used{};
  ::clock_getcpuclockid(process, &clock);
  ::clock_gettime(clock, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

std::chrono::nanoseconds cpu_time_of_both(const Opponent& opponent) {
  return cpu_time(::getpid()) + cpu_time(opponent.process);
}

/// Obeys the orders that come over `line`, and reports there what a switch took.
void obey_orders(const UniqueFd& line, const std::array<Opponent, 2>& opponents) {
  Order order;
  while (::recv(line.get(), &order, sizeof order, 0) == sizeof order) {
    const Opponent& opponent = opponents[static_cast<std::size_t>(order.partner)];
    if (!play(opponent, order.round_trips / kWarmUpShare)) return;
    const std::chrono::nanoseconds before = cpu_time_of_both(opponent);
    if (!play(opponent, order.round_trips)) return;
    const std::chrono::nanoseconds used = cpu_time_of_both(opponent) - before;
    const double ns =
        static_cast<double>(used.count()) / static_cast<double>(order.round_trips) / 2;
    ::send(line.get(), &ns, sizeof ns, MSG_NOSIGNAL);
  }
}

/// Forks a process that is bound to `cpu` and does `what`.
Result<pid_t> fork_on(int cpu, const std::function<void()>& what) {
  const pid_t process = ::fork();
  if (process < 0) return Error{errno, "fork", {}};
  if (process > 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (host::bind_thread_to(cpu)) what();
  ::_exit(0);
}

}  // namespace

Result<PingPong> PingPong::start(int cpu, const std::array<std::string, 2>& cgroups) {
  PingPong game;
  std::array<Opponent, 2> opponents;
  for (const Partner partner : kPartners) {
    const auto number = static_cast<std::size_t>(partner);
    Result<Pipe> there = make_pipe();
    if (!there) return there.error();
    Result<Pipe> back = make_pipe();
    if (!back) return back.error();
    const Pipe theirs{std::move(there->from), std::move(back->to)};
    const Result<pid_t> process = fork_on(cpu, [&] { return_all(theirs); });
    if (!process) return process.error();
    game.processes_.push_back(*process);
    opponents[number] = {*process, {std::move(back->from), std::move(there->to)}};
    if (const Result<> moved = move_to_cgroup(cgroups[number], *process); !moved)
      return moved.error();
  }

  int line[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
    return Error{errno, "make a socket pair", {}};
  }
  game.line_.reset(line[0]);
  const UniqueFd theirs{line[1]};
  const Result<pid_t> first = fork_on(cpu, [&] {
    game.line_.reset();
    obey_orders(theirs, opponents);
  });
  if (!first) return first.error();
  game.processes_.push_back(*first);
  if (const Result<> moved = move_to_cgroup(cgroups[0], *first); !moved) return moved.error();
  return game;
}

PingPong::~PingPong() {
  for (const pid_t process : processes_) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
}

Result<double> PingPong::ns_per_switch(Partner partner, std::size_t round_trips,
                                       const StopSignals& stop) {
  const Order order{partner, round_trips};
  ::send(line_.get(), &order, sizeof order, MSG_NOSIGNAL);
  pollfd ready[] = {{line_.get(), POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
  ::poll(ready, 2, -1);
  if (ready[1].revents != 0) return Error{EINTR, "measure", {}};
  double ns = 0;
  if (::recv(line_.get(), &ns, sizeof ns, 0) == sizeof ns) return ns;
  return Error{0, "measure: a process of the ping-pong has died", {}};
}

}  // namespace pex::bench
