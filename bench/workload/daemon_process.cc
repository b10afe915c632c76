#include "bench/workload/daemon_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kMaxStart = 20s;
constexpr std::chrono::milliseconds kPause = 50ms;
constexpr const char* kRequest =
    "GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n";

std::string socket_in(const std::string& directory) { return directory + "/daemon.sock"; }
std::string log_in(const std::string& directory) { return directory + "/daemon.log"; }

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) return {};
  return socket;
}

/// Empty if there was none.
std::string scrape(const std::string& directory) {
  const UniqueFd socket = connect_to(socket_in(directory));
  if (!socket || ::send(socket.get(), kRequest, std::strlen(kRequest), MSG_NOSIGNAL) < 0) return {};
  std::string answer;
  char bytes[16384];
  for (ssize_t read = 0; (read = ::recv(socket.get(), bytes, sizeof bytes, 0)) > 0;) {
    answer.append(bytes, static_cast<std::size_t>(read));
  }
  return answer;
}

Error not_counting(const std::string& directory) {
  std::string line;
  std::string last;
  std::ifstream log(log_in(directory));
  while (std::getline(log, line)) last = line;
  return Error{0, "start the daemon: it does not count all cgroups; it says: " + last, {}};
}

}  // namespace

Result<DaemonProcess> DaemonProcess::start(const std::string& program,
                                           const std::string& configuration,
                                           const std::string& directory) {
  const std::string file = directory + "/daemon.yaml";
  if (!(std::ofstream(file) << configuration)) return Error{errno, "write '" + file + "'", {}};
  ::unlink(socket_in(directory).c_str());
  Result<ChildProcess> process = ChildProcess::execute(
      {}, {program, "--config.file", file, "--web.listen-address", "unix:" + socket_in(directory)},
      log_in(directory));
  if (!process) return process.error();
  return DaemonProcess{std::move(*process), directory};
}

Result<> DaemonProcess::wait_for_cgroups(std::size_t cgroups, const StopSignals& stop) const {
  const auto deadline = Clock::now() + kMaxStart;
  const auto wanted = static_cast<double>(cgroups);
  while (Clock::now() < deadline) {
    if (sample("perf_event_exporter_cgroups{state=\"counted\"}") == wanted) return {};
    pollfd waited[] = {{stop.descriptor(), POLLIN, 0}, {process_.descriptor(), POLLIN, 0}};
    if (::poll(waited, 2, static_cast<int>(kPause.count())) == 0) continue;
    if (waited[0].revents != 0) return Error{EINTR, "measure", {}};
    break;
  }
  return not_counting(directory_);
}

std::optional<double> DaemonProcess::sample(const std::string& name) const {
  const std::string answer = scrape(directory_);
  const std::string line = "\n" + name + " ";
  const std::size_t at = answer.find(line);
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(answer.c_str() + at + line.size(), nullptr);
}

}  // namespace pex::bench
