#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/run/creation_watch.h"
#include "daemon/web/file_fingerprints.h"
#include "daemon/web/file_thread.h"
#include "daemon/web/repeated.h"

namespace pex::daemon {

/// Reports that a file has been replaced by another one, once that has stayed the same for a
/// second. A file that is written in place, or created there, may be half written for any time, and
/// valid: it is another reason. Looks at it once a second: unlike inotify(7), that sees files which
/// are replaced through a link in their path, as a ConfigMap of Kubernetes is, and those that
/// another host changes. On the loop's thread; the file is looked at on another one.
class ConfigWatch {
 public:
  enum class Reason {
    kReplaced,        ///< or removed
    kWrittenInPlace,  ///< not to be read
    kNotAdopted,      ///< it is the same that was not adopted before
    kNeverRests,      ///< it has changed at each look of a minute; not to be read
  };
  using OnDue = std::function<void(Reason)>;
  static constexpr std::chrono::seconds kEvery{1};
  static constexpr int kLooksOfAMinute = 60;

  /// `on_due` is to read the file, but for the reasons that say otherwise. References outlive it.
  ConfigWatch(boost::asio::io_context& loop, Log& log, std::string file, OnDue on_due,
              std::chrono::nanoseconds every = kEvery);

  /// Calls `read`, which is to read the file, once its file system answers: what was changed before
  /// is known.
  void before_reading(std::function<void()> read);
  /// What was read could not be adopted for a reason that passes. It is due again after a minute.
  void try_again() { looks_until_next_try_ = kLooksOfAMinute; }
  void start();
  /// Lets the loop run out of work.
  void stop();

  /// The file as a look has found it, and what CreationWatch::take() says of it. Nothing, for
  /// another file: it came from another host, for example, and its times decide.
  void see(FileFingerprints now, std::optional<bool> is_created);
  /// The file as it is read.
  void file_is_read(FileFingerprints now);

 private:
  void look();

  OnDue on_due_;
  Repeated looks_;
  FileThread files_;
  std::shared_ptr<CreationWatch> creation_;  ///< of the other thread
  FileFingerprints known_;
  FileFingerprints seen_;           ///< at the last look
  std::optional<bool> is_created_;  ///< it was created where it is
  int looks_until_next_try_ = 0;    ///< 0: none is needed
  int looks_unlike_the_last_ = 0;
};

}  // namespace pex::daemon
