#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"
#include "support/patience.h"

namespace pex::http {

struct Reply {
  unsigned status = 0;                         ///< 0 when no whole reply came
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found != headers.end() ? found->second : "";
  }
};

/// A blocking client that sends exactly the bytes it is told to. No call waits beyond a minute,
/// so that a broken server fails a test and does not hang it.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, const char* host = "127.0.0.1") : fd_(open(port, host)) {}
  /// From an address `source` of IPv4.
  RawClient(std::uint16_t port, const char* host, const char* source)
      : fd_(open(port, host, source)) {}
  /// Of a unix socket.
  explicit RawClient(const std::string& path) : fd_(open(path)) {}
  RawClient(RawClient&&) = default;
  virtual ~RawClient() = default;

  /// One that has its descriptor and is to be connected: for when there are no more.
  static RawClient unconnected() {
    RawClient client;
    client.fd_ = make_socket(AF_INET);
    return client;
  }
  void connect_to(std::uint16_t port) {
    const sockaddr_in address = v4_address(port, "127.0.0.1");
    ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }

  bool is_connected() const { return static_cast<bool>(fd_); }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send_some(bytes);
      was_reset_ = sent <= 0;
      if (was_reset_) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }

  /// The next reply; what follows it stays for the one after.
  Reply read_reply(bool with_body = true) {
    while (received_.find("\r\n\r\n") == std::string::npos) {
      if (!receive()) return {};
    }
    Reply reply = parse_head(take(received_.find("\r\n\r\n") + 4));
    const std::size_t length = parse_unsigned(reply.header("content-length")).value_or(0);
    while (with_body && received_.size() < length) {
      if (!receive()) return {};
    }
    if (with_body) reply.body = take(length);
    return reply;
  }

  /// `fields` are further lines of the head, each with its CRLF.
  Reply get(const std::string& target, const std::string& fields = "") {
    send("GET " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n");
    return read_reply();
  }

  /// True when the server ends the connection in order, not by a reset, having sent nothing more.
  bool is_closed_without_a_word() {
    return !receive() && received_.empty() && saw_end_ && !was_reset_;
  }

  /// Takes what there is, without waiting for more than `bytes`. The number of bytes taken.
  std::size_t read_up_to(std::size_t bytes) {
    while (received_.size() < bytes && receive()) {
    }
    return received_.size();
  }

  /// True when there is something to read within `wait_ms`.
  bool has_input() { return has_input_within(kPatienceMs); }
  bool has_input_within(int wait_ms) { return poll_for(POLLIN, wait_ms) > 0; }

  /// True when the server resets the connection, which is seen without reading.
  bool is_reset() { return has_error_within(kPatienceMs); }
  bool has_error_within(int wait_ms) { return poll_for(0, wait_ms) > 0; }

 protected:
  int fd() const { return fd_.get(); }
  virtual ssize_t send_some(std::string_view bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  virtual ssize_t receive_some(char* room, std::size_t size) {
    return ::recv(fd_.get(), room, size, 0);
  }

 private:
  static constexpr int kPatienceMs = std::chrono::milliseconds{test::kPatience}.count();

  RawClient() = default;

  static sockaddr_in v4_address(std::uint16_t port, const char* host) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, host, &address.sin_addr);
    return address;
  }

  static UniqueFd open(std::uint16_t port, const char* host, const char* source = nullptr) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) return connect(&v6, sizeof v6);
    const sockaddr_in v4 = v4_address(port, host);
    return connect(&v4, sizeof v4, source);
  }

  static UniqueFd open(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return connect(&address, sizeof address);
  }

  static UniqueFd make_socket(int family) {
    UniqueFd fd{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const timeval patience{kPatienceMs / 1000, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }

  static UniqueFd connect(const void* to, socklen_t size, const char* source = nullptr) {
    const auto* const address = static_cast<const sockaddr*>(to);
    UniqueFd fd = make_socket(address->sa_family);
    if (source != nullptr) {
      const sockaddr_in from = v4_address(0, source);
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from);
    }
    if (::connect(fd.get(), address, size) != 0) fd.reset();
    return fd;
  }

  int poll_for(short events, int wait_ms) {
    pollfd watched{fd_.get(), events, 0};
    return ::poll(&watched, 1, wait_ms);
  }

  bool receive() {
    std::array<char, 65536> chunk;
    const ssize_t size = receive_some(chunk.data(), chunk.size());
    if (size == 0) saw_end_ = true;
    if (size > 0) received_.append(chunk.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  std::string take(std::size_t bytes) {
    std::string front = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return front;
  }

  static Reply parse_head(const std::string& head) {
    Reply reply;
    reply.status = static_cast<unsigned>(parse_unsigned(head.substr(9, 3)).value_or(0));
    for (const std::string_view line : split(head, '\n')) {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      std::string name{line.substr(0, colon)};
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
      const std::string_view value = line.substr(colon + 1, line.size() - colon - 2);
      reply.headers[name] = trim(value);
    }
    return reply;
  }

  UniqueFd fd_;
  std::string received_;
  bool saw_end_ = false;
  bool was_reset_ = false;  ///< seen while sending, which hides it from a later receive
};

}  // namespace pex::http
