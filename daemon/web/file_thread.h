#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "daemon/log/logging.h"
#include "daemon/log/outbox.h"

namespace pex::daemon {

/// Looks at files on a thread of its own: where their file system does not answer, as that of a
/// server that is away, the thread waits, and the loop does not. On the loop's thread.
class FileThread {
 public:
  /// What is done on the thread, with what it owns; it returns what is then done on the loop.
  using Work = std::function<std::function<void()>()>;
  static constexpr std::chrono::seconds kHangs{10};

  /// `files` are named in the log if work takes kHangs: "the web configuration 'a.yml'". References
  /// outlive it. Without a thread (none can be started), work is done at once.
  FileThread(boost::asio::io_context& loop, Log& log, const char* name, std::string files);

  bool is_busy() const { return waiting_ > 0; }
  void run(Work work);
  /// Lets the loop run out of work.
  void stop();

 private:
  void watch();

  boost::asio::io_context& loop_;
  Log& log_;
  const char* name_;
  std::string files_;
  std::size_t waiting_ = 0;  ///< pieces of work that have not ended
  boost::asio::steady_timer hangs_;
  std::unique_ptr<Outbox> outbox_;  ///< from the first work on
};

}  // namespace pex::daemon
