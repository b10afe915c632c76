#pragma once

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/run/app.h"
#include "http/fetch.h"
#include "support/patience.h"

namespace pex::daemon {

/// The program, whose loop runs while it polls or answers.
class PolledApp {
 public:
  /// `kernel` outlives it.
  PolledApp(const Options& options, perf::PerfKernel& kernel)
      : options_(options), app_(loop_, options_, kernel, log_) {}
  ~PolledApp() { app_.stop(); }
  PolledApp(const PolledApp&) = delete;
  PolledApp& operator=(const PolledApp&) = delete;

  /// Why it cannot.
  std::vector<Error> start() {
    const auto started = app_.start();
    return started ? std::vector<Error>{} : started.error();
  }

  /// Until what it has counted is published.
  void poll() {
    bool is_published = false;
    EXPECT_TRUE(app_.poll([&] { is_published = true; }));
    while (!is_published) loop_.run_one();
  }

  std::string scrape() { return app_.scrape(); }

  /// What a client gets for the path.
  http::Fetched get(const std::string& path) {
    if (!is_listening_) is_listening_ = static_cast<bool>(app_.listen());
    EXPECT_TRUE(is_listening_);
    const std::string address = "127.0.0.1:" + std::to_string(app_.ports().front());
    http::Fetched fetched;
    std::thread client{[&] {
      const auto answer = http::fetch({address, false}, path, test::kPatience);
      fetched = answer ? *answer : http::Fetched{0, describe(answer.error())};
      boost::asio::post(loop_, [this] { loop_.stop(); });
    }};
    loop_.run();
    loop_.restart();
    client.join();
    return fetched;
  }

 private:
  Options options_;
  Log log_{LogLevel::kError, LogFormat::kLogfmt};
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  App app_;
  bool is_listening_ = false;
};

}  // namespace pex::daemon
