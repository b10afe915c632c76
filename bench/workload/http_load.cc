#include "bench/workload/http_load.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench/support/cost.h"

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmUpShare = 0.1;
constexpr int kMaxWait = 1000;  // ms: servers that answer nothing for so long have died

struct Connection {
  UniqueFd socket;
  Clock::time_point sent{};
  std::size_t received = 0;  ///< bytes of the answer
};

Result<UniqueFd> connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  const int yes = 1;
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0 ||
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) {
    return Error{errno, "connect to a server of the benchmark", {}};
  }
  return socket;
}

/// All connections, and the stop signals, in one epoll(7).
class Load {
 public:
  Result<> connect(const HttpServers& servers, const StopSignals& stop) {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    connections_.resize(servers.ports().size());
    for (std::size_t number = 0; number < connections_.size(); ++number) {
      Result<UniqueFd> socket = connect_to(servers.ports()[number]);
      if (!socket) return socket.error();
      connections_[number].socket = std::move(*socket);
      watch(connections_[number].socket.get(), number);
    }
    watch(stop.descriptor(), connections_.size());
    for (Connection& connection : connections_) send(connection);
    return {};
  }

  Result<> run_until(Clock::time_point end) {
    while (Clock::now() < end) {
      std::array<epoll_event, 64> ready{};
      const int number = ::epoll_wait(epoll_.get(), ready.data(), ready.size(), kMaxWait);
      if (number <= 0) return Error{0, "load the servers: none answers", {}};
      for (int at = 0; at < number; ++at) {
        const std::size_t which = ready[static_cast<std::size_t>(at)].data.u64;
        if (which == connections_.size()) return Error{EINTR, "measure", {}};
        if (!receive(connections_[which])) return Error{0, "load the servers: one has died", {}};
      }
    }
    return {};
  }

  /// Microseconds of each answer, since the last call.
  std::vector<double> take_latencies() { return std::exchange(latencies_, {}); }

 private:
  void watch(int fd, std::size_t number) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = number;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  static void send(Connection& connection) {
    connection.sent = Clock::now();
    connection.received = 0;
    ::send(connection.socket.get(), HttpServers::kRequest, sizeof HttpServers::kRequest - 1,
           MSG_NOSIGNAL);
  }

  bool receive(Connection& connection) {
    std::array<char, 4096> bytes{};
    const ssize_t read = ::recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
    if (read <= 0) return false;
    connection.received += static_cast<std::size_t>(read);
    if (connection.received < HttpServers::kAnswerBytes) return true;
    const std::chrono::duration<double, std::micro> took = Clock::now() - connection.sent;
    latencies_.push_back(took.count());
    send(connection);
    return true;
  }

  UniqueFd epoll_;
  std::vector<Connection> connections_;
  std::vector<double> latencies_;
};

}  // namespace

Result<LoadResult> load(const HttpServers& servers, std::chrono::duration<double> time,
                        const StopSignals& stop) {
  Load load;
  if (const Result<> connected = load.connect(servers, stop); !connected) return connected.error();
  const auto whole = std::chrono::duration_cast<Clock::duration>(time);
  const auto warm_up = std::chrono::duration_cast<Clock::duration>(time * kWarmUpShare);
  if (const Result<> ran = load.run_until(Clock::now() + warm_up); !ran) return ran.error();
  load.take_latencies();

  const auto start = Clock::now();
  const std::chrono::nanoseconds cpu_start = servers.cpu_time();
  if (const Result<> ran = load.run_until(start + whole); !ran) return ran.error();
  const std::chrono::duration<double> took = Clock::now() - start;
  const std::chrono::duration<double, std::micro> cpu = servers.cpu_time() - cpu_start;

  const std::vector<double> latencies = load.take_latencies();
  if (latencies.empty()) return Error{0, "load the servers: none answers", {}};
  const auto requests = static_cast<double>(latencies.size());
  return LoadResult{requests / took.count(), quantile(latencies, 0.5), quantile(latencies, 0.99),
                    cpu.count() / requests};
}

}  // namespace pex::bench
