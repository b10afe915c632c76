#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "daemon/web/file_fingerprints.h"

namespace pex::daemon {

/// Reports that a file has changed, once it has stayed the same for a second: a program that copies
/// or edits it may be between two writes. Looks at it once a second: unlike inotify(7), that sees
/// files which are replaced through a link in their path, as a ConfigMap of Kubernetes is, and
/// those that another host changes. On the loop's thread.
class ConfigWatch {
 public:
  using OnChange = std::function<void()>;
  static constexpr std::chrono::seconds kEvery{1};

  ConfigWatch(boost::asio::io_context& loop, std::string file, OnChange on_change,
              std::chrono::nanoseconds every = kEvery);

  /// The file is read now: what was changed before is known.
  void file_is_read();
  void start();
  /// Lets the loop run out of work.
  void stop();

 private:
  void look();

  OnChange on_change_;
  std::chrono::nanoseconds every_;
  boost::asio::steady_timer timer_;
  FileFingerprints known_;
  FileFingerprints seen_;  ///< at the last look
};

}  // namespace pex::daemon
