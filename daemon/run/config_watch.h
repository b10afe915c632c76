#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "daemon/web/file_fingerprints.h"

namespace pex::daemon {

/// Reports that a file has been replaced by another one, once that has stayed the same for a
/// second. A file that is written in place may be half written for any time, and valid: it is
/// another reason. Looks at it once a second: unlike inotify(7), that sees files which are replaced
/// through a link in their path, as a ConfigMap of Kubernetes is, and those that another host
/// changes. On the loop's thread.
class ConfigWatch {
 public:
  enum class Reason {
    kReplaced,        ///< or removed
    kWrittenInPlace,  ///< not to be read
    kNotAdopted,      ///< it is the same that was not adopted before
  };
  using OnDue = std::function<void(Reason)>;
  static constexpr std::chrono::seconds kEvery{1};
  static constexpr int kLooksUntilNextTry = 60;

  /// `on_due` is to read the file, if it is not written in place.
  ConfigWatch(boost::asio::io_context& loop, std::string file, OnDue on_due,
              std::chrono::nanoseconds every = kEvery);

  /// The file is read now: what was changed before is known.
  void file_is_read();
  /// What was read could not be adopted for a reason that passes. It is due again after a minute.
  void try_again() { looks_until_next_try_ = kLooksUntilNextTry; }
  void start();
  /// Lets the loop run out of work.
  void stop();

 private:
  void look();

  OnDue on_due_;
  std::chrono::nanoseconds every_;
  boost::asio::steady_timer timer_;
  bool is_stopped_ = false;
  FileFingerprints known_;
  FileFingerprints seen_;         ///< at the last look
  int looks_until_next_try_ = 0;  ///< 0: none is needed
};

}  // namespace pex::daemon
