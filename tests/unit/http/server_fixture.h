#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "http/server.h"
#include "support/patience.h"
#include "unit/http/raw_client.h"

namespace pex::http {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr std::size_t kBigBody = 50'000'000;
inline constexpr milliseconds kShort{100};

/// A server on a port of the kernel's choice, its loop in a thread of its own.
class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override {
    if (!server_) return;
    boost::asio::post(loop_, [this] { server_->stop(); });
    if (!loop_ends()) {
      ADD_FAILURE() << "the loop has work left after stop()";
      loop_.stop();
    }
    worker_.join();
  }

  void start(Limits limits = {}, const Listening& listening = {.addresses = {"127.0.0.1:0"}}) {
    Site site{.routes = routes(),
              .limits = limits,
              .access = [this] { return access_; },
              .on_refusal =
                  [this](const access::Peer& peer, std::string_view reason) {
                    refusals_.push_back(peer.text() + ": " + std::string(reason));
                  },
              .on_connection_limit = on_connection_limit_};
    auto server = Server::listen(loop_, worker_, listening, std::move(site));
    ASSERT_TRUE(server) << describe(server.error());
    server_ = *std::move(server);
    run_ = std::async(std::launch::async, [this] { loop_.run(); });
  }

  /// Its first client.
  RawClient start_and_connect(const Limits& limits = {}) {
    start(limits);
    return client();
  }

  /// From the next connection and request on.
  void let_in(access::AccessSettings settings) {
    auto access = make_access(std::move(settings));
    ASSERT_TRUE(access) << describe(access.error());
    if (server_) {
      on_loop([&] { access_ = *access; });
    } else {
      access_ = *access;
    }
  }

  /// Runs `work` on the loop, and waits for it.
  template <typename Work>
  void on_loop(Work work) {
    std::promise<void> done;
    boost::asio::post(loop_, [&] {
      work();
      done.set_value();
    });
    const auto state = done.get_future().wait_for(test::kPatience);
    if (state != std::future_status::ready) std::abort();  // it would use what is gone
  }

  /// "PEER: REASON" of each refusal since the last call.
  std::vector<std::string> take_refusals() {
    std::vector<std::string> taken;
    on_loop([&] { taken = std::exchange(refusals_, {}); });
    return taken;
  }

  ClientErrors errors() {
    ClientErrors counted;
    on_loop([&] { counted = server_->errors(); });
    return counted;
  }

  std::size_t connections() {
    std::size_t open = 0;
    on_loop([&] { open = server_->connections(); });
    return open;
  }

  /// To the client that has asked for /later first.
  void answer_later(const std::string& text = "at last\n") {
    on_loop([&] { kept_.front()(plain_text(200, text)); });
  }

  bool loop_ends() { return run_.wait_for(test::kPatience) == std::future_status::ready; }
  std::uint16_t port() const { return server_->ports().front(); }
  RawClient client() { return RawClient{port()}; }
  /// A client that has sent no more than this.
  RawClient client_that_sends(std::string_view bytes) {
    RawClient client = this->client();
    client.send(bytes);
    return client;
  }

  /// Asks for /later and waits until the handler has it.
  void ask_for_later(RawClient& client) {
    const std::size_t before = later_asked_;
    client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(test::comes_true([&] { return later_asked_ == before + 1; }));
  }

  std::vector<Route> routes() {
    static const auto big = std::make_shared<const std::string>(kBigBody, 'x');
    std::vector<Route> all{
        immediate("/hello", [](const Request&) { return plain_text(200, "hello\n"); }),
        immediate("/echo",
                  [](const Request& request) {
                    return plain_text(200, request.path + " " + request.query);
                  }),
        immediate("/accept",
                  [](const Request& request) {
                    return plain_text(
                        200, request.accept + (request.takes_gzip ? " with gzip" : " without"));
                  }),
        immediate("/teapot",
                  [](const Request&) {
                    Response response = plain_text(418, "short and stout\n");
                    response.content_type = "application/x-tea";
                    return response;
                  }),
        immediate("/empty", [](const Request&) { return Response{}; }),
        immediate("/headers",
                  [](const Request&) {
                    Response response = plain_text(200, "");
                    response.headers = {{"X-Own", "route"}, {"x-frame-options", "sameorigin"}};
                    return response;
                  }),
        immediate("/throws",
                  [](const Request&) -> Response { throw std::runtime_error{"the pot is empty"}; }),
        immediate("/big", [](const Request&) { return Response{.body = big}; }),
        immediate("/own-big",
                  [](const Request&) {
                    return Response{.body = std::make_shared<const std::string>(*big)};
                  }),
        immediate("/reserved",
                  [](const Request&) {
                    std::string text = "short";
                    text.reserve(kBigBody);
                    return Response{.body = std::make_shared<const std::string>(std::move(text))};
                  }),
        immediate("/count",
                  [this](const Request&) { return plain_text(200, std::to_string(++counted_)); }),
        immediate("/stop",
                  [this](const Request&) {
                    server_->stop();
                    return Response{};
                  }),
    };
    all.push_back({"/later", [this](const Request&, Respond respond) {
                     kept_.push_back(std::move(respond));
                     ++later_asked_;
                   }});
    all.push_back({"/drops", [](const Request&, const Respond&) {}});
    all.push_back({"/twice", [](const Request&, const Respond& respond) {
                     respond(plain_text(200, "first"));
                     respond(plain_text(200, "second"));
                   }});
    all.push_back(immediate("/post", [](const Request&) { return plain_text(202, "done\n"); }));
    all.back().is_post = true;
    all.push_back(immediate("/open", [](const Request&) { return plain_text(200, "open\n"); }));
    all.back().needs_login = false;
    return all;
  }

  boost::asio::io_context loop_;
  boost::asio::thread_pool worker_{1};
  std::shared_ptr<const access::Access> access_ = access::open_access();  ///< of the loop's thread
  std::function<void()> on_connection_limit_;                             ///< set before start()
  std::vector<std::string> refusals_;                                     ///< of the loop's thread
  std::vector<Respond> kept_;  ///< by /later; of the loop's thread
  std::atomic<std::size_t> later_asked_ = 0;
  std::unique_ptr<Server> server_;
  std::future<void> run_;
  std::atomic<int> counted_ = 0;
};

}  // namespace pex::http
