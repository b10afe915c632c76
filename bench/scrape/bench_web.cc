// What serving costs at the door: connections a second, in the clear and over TLS, beside a bare
// loop of accept, answer and close in the same run; and what a client sees while others hold
// connections and never read.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "bench/scrape/bare_server.h"
#include "bench/support/cost.h"
#include "http/server.h"

namespace pex::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr const char* kGet = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
constexpr const char* kGetBig = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::size_t kBigBytes = 8'000'000;  ///< more than sockets hold

struct Options {
  std::size_t rounds = 20;
  std::size_t connections = 2000;
  std::size_t handshakes = 400;
  std::size_t holders = 510;
};

/// The exporter's server with two routes, in a thread of its own.
class RealServer {
 public:
  explicit RealServer(const Identity* identity = nullptr) {
    auto access = access::open_access();
    if (identity != nullptr) {
      auto made = access::make_access(
          {.tls = access::TlsSettings{.certificate = {.text = identity->certificate},
                                      .key = {.text = identity->key}}});
      if (!made) throw std::runtime_error(describe(made.error()));
      access = *made;
    }
    const auto big = std::make_shared<const std::string>(kBigBytes, 'x');
    http::Site site;
    site.routes = {
        http::immediate("/hello",
                        [](const http::Request&) { return http::plain_text(200, "hello\n"); }),
        http::immediate("/big",
                        [big](const http::Request&) { return http::Response{.body = big}; })};
    site.access = [access] { return access; };
    auto server = http::Server::listen(loop_, worker_, {{"127.0.0.1:0"}, {}}, std::move(site));
    if (!server) throw std::runtime_error(describe(server.error()));
    server_ = *std::move(server);
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~RealServer() {
    asio::post(loop_, [this] { server_->stop(); });
    thread_.join();
    worker_.join();
  }
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  std::uint16_t port() const { return server_->ports().front(); }

 private:
  asio::io_context loop_;
  asio::thread_pool worker_{1};
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("connect on loopback");
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_text(int fd, std::string_view text) {
  if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("send");
}

/// One connection with one request on it, to the end of the answer.
void ask(std::uint16_t port) {
  const UniqueFd fd = connect_to(port);
  send_text(fd.get(), kGet);
  std::array<char, 4096> answer{};
  std::size_t size = 0;
  for (ssize_t got = 0; (got = ::recv(fd.get(), answer.data(), answer.size(), 0)) > 0;) {
    size += static_cast<std::size_t>(got);
  }
  if (size == 0) throw std::runtime_error("no answer");
}

void ask_over_tls(std::uint16_t port, SSL_CTX* context) {
  const UniqueFd fd = connect_to(port);
  const std::unique_ptr<SSL, FreeTls> session{SSL_new(context)};
  SSL_set_fd(session.get(), fd.get());
  if (SSL_connect(session.get()) != 1) throw std::runtime_error("TLS handshake");
  SSL_write(session.get(), kGet, static_cast<int>(std::string_view{kGet}.size()));
  std::array<char, 4096> answer{};
  if (SSL_read(session.get(), answer.data(), static_cast<int>(answer.size())) <= 0) {
    throw std::runtime_error("no answer over TLS");
  }
  SSL_shutdown(session.get());
}

template <typename Work>
double seconds_of(Work work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// `times` of `ask` with each of the two, in turns, so that the machine's moods meet both.
template <typename Ask>
void compare(const char* what, const Options& options, std::size_t times, std::uint16_t floor_port,
             std::uint16_t port, Ask ask_port) {
  std::vector<double> floor, ours, ratios;
  const std::size_t each = std::max<std::size_t>(times / options.rounds, 1);
  const auto many = [&](std::uint16_t to) {
    return seconds_of([&] {
      for (std::size_t i = 0; i < each; ++i) ask_port(to);
    });
  };
  for (std::size_t round = 0; round < options.rounds; ++round) {
    floor.push_back(static_cast<double>(each) / many(floor_port));
    ours.push_back(static_cast<double>(each) / many(port));
    ratios.push_back(floor.back() / ours.back());
  }
  std::printf("%-28s %10.0f %10.0f   %.2f (%.2f-%.2f)\n", what, quantile(floor, 0.5),
              quantile(ours, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25),
              quantile(ratios, 0.75));
}

std::vector<double> latencies_ms(std::uint16_t port, std::size_t times) {
  std::vector<double> each;
  for (std::size_t i = 0; i < times; ++i) each.push_back(1000 * seconds_of([&] { ask(port); }));
  return each;
}

void print_latencies(const char* what, const std::vector<double>& ms) {
  std::printf("%-28s %10.3f %10.3f %10.3f\n", what, quantile(ms, 0.5), quantile(ms, 0.99),
              quantile(ms, 1));
}

void run(const Options& options) {
  const Identity identity = make_identity();
  {
    const BareServer floor;
    const RealServer real;
    std::printf("One client, one connection after the other; a second, medians of %zu rounds.\n",
                options.rounds);
    std::printf("%-28s %10s %10s   %s\n", "", "bare loop", "exporter", "ratio (quartiles)");
    compare("connections", options, options.connections, floor.port(), real.port(), ask);
  }
  {
    const BareServer floor{&identity};
    const RealServer real{&identity};
    const TlsContext context{SSL_CTX_new(TLS_client_method())};
    compare("TLS handshakes (P-256)", options, options.handshakes, floor.port(), real.port(),
            [&](std::uint16_t port) { ask_over_tls(port, context.get()); });
  }
  const RealServer real;
  std::printf("\nms of one connection with one request.\n%-28s %10s %10s %10s\n", "", "p50", "p99",
              "max");
  const std::size_t times = options.connections / 2;
  print_latencies("alone", latencies_ms(real.port(), times));
  std::vector<UniqueFd> holders;
  for (std::size_t i = 0; i < options.holders; ++i) {
    holders.push_back(connect_to(real.port()));
    send_text(holders.back().get(), kGetBig);
  }
  const std::string beside = "beside " + std::to_string(options.holders) + " that never read";
  print_latencies(beside.c_str(), latencies_ms(real.port(), times));
}

/// As many as the clients take beside the server.
void raise_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  pex::bench::Options options;
  bool is_quick = false;
  CLI::App cli{"What serving costs at the door."};
  cli.add_option("--rounds", options.rounds, "Rounds, in turns with the floor.")
      ->capture_default_str();
  cli.add_option("--connections", options.connections, "In all rounds.")->capture_default_str();
  cli.add_option("--handshakes", options.handshakes, "In all rounds.")->capture_default_str();
  cli.add_option("--holders", options.holders, "Clients that never read.")->capture_default_str();
  cli.add_flag("--quick", is_quick, "Few of each: to see it work, not for figures.");
  CLI11_PARSE(cli, argc, argv);
  if (is_quick) options = {.rounds = 2, .connections = 100, .handshakes = 20, .holders = 100};
  std::signal(SIGPIPE, SIG_IGN);
  pex::bench::raise_limit();
  pex::bench::run(options);
}
