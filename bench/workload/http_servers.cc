#include "bench/workload/http_servers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

namespace pex::bench {
namespace {

/// FNV-1a.
std::uint64_t hash(const std::vector<unsigned char>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

bool answer(int client, std::uint64_t body) {
  std::array<char, HttpServers::kAnswerBytes + 1> text{};
  std::snprintf(text.data(), text.size(), "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n%016llx\n",
                static_cast<unsigned long long>(body));
  const std::string_view all{text.data()};
  return ::send(client, all.data(), all.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(all.size());
}

/// Until the client closes the connection. A request comes in one piece.
void serve(int client, std::vector<unsigned char>& work) {
  const int yes = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  std::array<char, 4096> request{};
  while (::recv(client, request.data(), request.size(), 0) > 0) {
    ++work.front();  // so that each hash is another one
    if (!answer(client, hash(work))) return;
  }
}

[[noreturn]] void serve_all(const UniqueFd& listener, std::size_t work_bytes) {
  std::vector<unsigned char> work(work_bytes + 1);
  for (;;) {
    const UniqueFd client{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (client) serve(client.get(), work);
  }
}

struct Listener {
  UniqueFd socket;
  std::uint16_t port = 0;
};

Result<Listener> listen_on_loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  Listener listener{UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}};
  if (!listener.socket || ::bind(listener.socket.get(), generic, size) != 0 ||
      ::listen(listener.socket.get(), 16) != 0 ||
      ::getsockname(listener.socket.get(), generic, &size) != 0) {
    return Error{errno, "listen on 127.0.0.1", {}};
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

}  // namespace

Result<HttpServers> HttpServers::start(const CgroupTree& cgroups, const std::vector<int>& cpus,
                                       std::size_t work_bytes) {
  HttpServers servers;
  for (std::size_t number = 0; number < cgroups.size(); ++number) {
    const Result<Listener> listener = listen_on_loopback();
    if (!listener) return listener.error();
    Result<ChildProcess> process = ChildProcess::fork(
        {cgroups.directory(number), cpus}, [&] { serve_all(listener->socket, work_bytes); });
    if (!process) return process.error();
    servers.processes_.push_back(std::move(*process));
    servers.ports_.push_back(listener->port);
  }
  return servers;
}

std::chrono::nanoseconds HttpServers::cpu_time() const {
  std::chrono::nanoseconds all{};
  for (const ChildProcess& process : processes_) all += process.cpu_time();
  return all;
}

}  // namespace pex::bench
