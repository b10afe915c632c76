#include "bench/poll/assistant.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "bench/support/stop_signals.h"

namespace pex::bench {
namespace {

struct Message {
  enum Kind { kScrape, kCost, kFailure, kAnswer };
  Kind kind = kAnswer;
  std::uint64_t number = 0;  ///< the port; in answers, 0 is a failure
  bool gzip = false;
  Cost cost = {};
  char failure[400] = {};  ///< cut off if need be
};

bool send(int line, const Message& message) {
  return ::send(line, &message, sizeof message, MSG_NOSIGNAL) == sizeof message;
}

bool receive(int line, Message& message, int flags = 0) {
  return ::recv(line, &message, sizeof message, flags) == sizeof message;
}

/// A scraper of one port that keeps its connection.
class Scraper {
 public:
  /// Bytes of the body; 0 on any failure.
  std::uint64_t scrape(std::uint16_t port, bool gzip);

 private:
  bool connect(std::uint16_t port);

  UniqueFd socket_;
};

bool Scraper::connect(std::uint16_t port) {
  socket_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::uint64_t Scraper::scrape(std::uint16_t port, bool gzip) {
  static constexpr std::string_view kHead =
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/plain;version=0.0.4\r\n";
  const std::string request =
      std::string(kHead) + (gzip ? "Accept-Encoding: gzip\r\n\r\n" : "\r\n");
  static constexpr std::string_view kLength = "Content-Length: ";

  if (!socket_ && !connect(port)) return 0;
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return 0;
  std::string answer;
  for (;;) {
    char block[65536];
    const ssize_t got = ::recv(socket_.get(), block, sizeof block, 0);
    if (got <= 0) return 0;
    answer.append(block, static_cast<std::size_t>(got));

    const std::size_t head = answer.find("\r\n\r\n");
    if (head == std::string::npos) continue;
    const std::size_t length = answer.find(kLength);
    if (!answer.starts_with("HTTP/1.1 200 ") || length > head) return 0;
    std::uint64_t bytes = 0;
    std::from_chars(answer.data() + length + kLength.size(), answer.data() + head, bytes);
    if (answer.size() >= head + 4 + bytes) return bytes;
  }
}

/// Does what the measured process asks for until it reports or ends.
Result<Cost> assist(int line) {
  const StopSignals signals;
  std::map<std::uint16_t, Scraper> scrapers;
  for (;;) {
    pollfd ready[] = {{line, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    ::poll(ready, 2, -1);
    if (ready[1].revents != 0) return Error{EINTR, "measure", {}};
    Message message;
    if (!receive(line, message)) return Error{0, "measure: the measured process has died", {}};
    switch (message.kind) {
      case Message::kScrape: {
        const auto port = static_cast<std::uint16_t>(message.number);
        message.number = scrapers[port].scrape(port, message.gzip);
        break;
      }
      case Message::kCost:
        return message.cost;
      default:
        return Error{0, message.failure, {}};
    }
    message.kind = Message::kAnswer;
    send(line, message);
  }
}

}  // namespace

void Assistant::ask_to_scrape(std::uint16_t port, bool gzip) {
  send(line_.get(), {.kind = Message::kScrape, .number = port, .gzip = gzip});
}

std::optional<std::uint64_t> Assistant::scraped_bytes() {
  Message answer;
  if (!receive(line_.get(), answer, MSG_DONTWAIT)) return std::nullopt;
  return answer.number;
}

void Assistant::report(const Result<Cost>& cost) {
  Message message{.kind = cost ? Message::kCost : Message::kFailure};
  if (cost) {
    message.cost = *cost;
  } else {
    describe(cost.error()).copy(message.failure, sizeof message.failure - 1);
  }
  send(line_.get(), message);
}

Result<Cost> measure_apart(const std::function<Result<Cost>(Assistant&)>& measure) {
  int line[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
    return Error{errno, "make a socket pair", {}};
  }
  UniqueFd ours{line[0]};
  UniqueFd theirs{line[1]};
  const pid_t measured = ::fork();
  if (measured < 0) return Error{errno, "fork", {}};
  if (measured == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ours.reset();
    Assistant assistant{std::move(theirs)};
    assistant.report(measure(assistant));
    ::_exit(0);
  }
  theirs.reset();
  Result<Cost> cost = assist(ours.get());
  ::kill(measured, SIGKILL);  // when it has reported, it is only about to end
  ::waitpid(measured, nullptr, 0);
  return cost;
}

}  // namespace pex::bench
