#include "bench/scrape/served_scrapes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "bench/scrape/heap_counter.h"
#include "bench/support/synthetic_snapshot.h"
#include "daemon/web/scrape_cache.h"
#include "http/server.h"

namespace pex::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

/// The part of the exporter that serves, in a thread of its own.
class ServedSite {
 public:
  explicit ServedSite(std::shared_ptr<const collect::Snapshot> snapshot)
      : latest_(std::move(snapshot)) {
    scrapes_.set_max_age(std::chrono::hours{1});
    const auto metrics = [this](const http::Request& request, http::Respond respond) {
      scrapes_.answer({}, request.takes_gzip, std::move(respond));
    };
    http::Site site;
    site.routes = {{"/metrics", metrics}};
    auto server = http::Server::listen(loop_, worker_, {{"127.0.0.1:0"}, {}}, std::move(site));
    if (!server) throw std::runtime_error(describe(server.error()));
    server_ = *std::move(server);
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~ServedSite() {
    asio::post(loop_, [this] { server_->stop(); });
    thread_.join();
    worker_.join();
  }

  std::uint16_t port() const { return server_->ports().front(); }

  /// The same counts as if they had been read again.
  void publish_again() {
    auto copy = std::make_shared<const collect::Snapshot>(*latest_);
    std::atomic<bool> done = false;
    asio::post(loop_, [&] {
      latest_ = std::move(copy);
      done.store(true);
    });
    while (!done.load()) std::this_thread::yield();
  }

 private:
  asio::io_context loop_{1};
  asio::thread_pool worker_{1};
  std::shared_ptr<const collect::Snapshot> latest_;
  daemon::ScrapeCache scrapes_{loop_,
                               worker_,
                               {.latest =
                                    [this] {
                                      return daemon::ScrapeCache::Latest{latest_, Clock::now()};
                                    },
                                .read_self = [] { return std::make_shared<const NoMetrics>(); },
                                .poll = [] {}}};
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  /// The bytes of the body, which are read and dropped.
  std::size_t scrape(bool gzip) {
    std::string_view request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    if (gzip) request = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n";
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) fail();
    std::size_t received = 0;
    std::size_t expected = 1;  // until the head tells
    std::size_t length = 0;
    while (received < expected) {
      const ssize_t got = ::recv(socket_.get(), block_.data(), block_.size(), 0);
      if (got <= 0) fail();
      if (received == 0) {
        const std::string_view head{block_.data(), static_cast<std::size_t>(got)};
        length = content_length(head);
        expected = head.find("\r\n\r\n") + 4 + length;
      }
      received += static_cast<std::size_t>(got);
    }
    return length;
  }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error("the connection broke"); }
  static std::size_t content_length(std::string_view head) {
    constexpr std::string_view kField = "Content-Length: ";
    const std::size_t at = head.find(kField);
    if (at == std::string_view::npos || !head.starts_with("HTTP/1.1 200")) fail();
    std::size_t length = 0;
    std::from_chars(head.data() + at + kField.size(), head.data() + head.size(), length);
    return length;
  }

  UniqueFd socket_;
  std::string block_ = std::string(256 * 1024, '\0');
};

}  // namespace

Served serve_scrapes(const std::shared_ptr<const collect::Snapshot>& snapshot,
                     const Asking& asking) {
  ServedSite site{snapshot};
  Client client{site.port()};
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    if (asking.fresh) site.publish_again();
    client.scrape(asking.gzip);
  }
  Served served;
  for (std::size_t i = 0; i < asking.times; ++i) {
    if (asking.fresh) site.publish_again();
    std::this_thread::sleep_for(asking.apart);
    const std::uint64_t before = allocated_bytes();
    const auto start = Clock::now();
    served.bytes = client.scrape(asking.gzip);
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    served.milliseconds.push_back(took.count());
    served.allocated_bytes = allocated_bytes() - before;
  }
  return served;
}

}  // namespace pex::bench
