#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/access.h"
#include "access/web_protections.h"
#include "base/result.h"
#include "daemon/web/file_fingerprints.h"
#include "daemon/web/moment.h"
#include "host/mounts.h"
#include "yaml/diagnostic.h"

namespace pex::daemon {

/// The web configuration (users, TLS) of the configured file. Certificates and users change without
/// a signal: each call of current() looks for changes of the file and of those that it names. The
/// configuration in force stays until a changed file has been stable for a while, is valid, and
/// removes no protection.
class AccessReload {
 public:
  /// How long a file must be unchanged before it is read: a program that copies or edits it may be
  /// between two writes.
  static constexpr std::chrono::seconds kStandsStill{1};
  /// A file that keeps changing for this long is reported.
  static constexpr std::chrono::minutes kReportUnstableAfter{1};

  /// The result of reading a changed file.
  struct Reload {
    std::vector<Error> errors;                  ///< why it cannot be used
    std::vector<access::Downgrade> downgrades;  ///< adopted, or refused
    std::vector<yaml::Diagnostic> warnings;     ///< for the log
    bool is_adopted = false;                    ///< else the previous configuration stays in force
  };
  using OnReload = std::function<void(const Reload&)>;

  /// Without a file: plain HTTP without login.
  AccessReload() = default;

  /// Reads the file. Fails with all errors in it and in those it names, or if it lacks one of
  /// `required` (names of access::requirable()), as a later change of it does. `warnings` gets what
  /// an operator should know about a valid file.
  static Result<AccessReload, std::vector<Error>> load(const std::string& file,
                                                       std::vector<std::string> required,
                                                       std::vector<yaml::Diagnostic>& warnings);

  /// The configuration in force; `on_reload` is called when a changed file was read.
  std::shared_ptr<const access::Access> current(const OnReload& on_reload, const Moment& now);

  const std::shared_ptr<const access::Access>& access() const { return access_; }
  bool has_file() const { return !file_.empty(); }

 private:
  struct Reading;
  static Reading read(const std::string& file, const std::vector<std::string>& required);

  /// A change that is too recent to be read.
  struct Pending {
    FileFingerprints stamps;
    std::chrono::steady_clock::time_point since;  ///< the stamps have not changed
    std::chrono::steady_clock::time_point first;  ///< when the first of these changes was seen
    bool is_reported = false;
  };

  void check(const OnReload& on_reload, const Moment& now);
  bool has_stood_still(const FileFingerprints& seen, const Moment& now);
  void report_unstable(const OnReload& on_reload, const Moment& now);
  void decide(Reading reading, const OnReload& on_reload, const Moment& now);
  Reload decide(Reading& reading);
  std::vector<Error> renamed_files();

  std::string file_;
  std::vector<std::string> required_;
  FileFingerprints stamps_;  ///< of the last reading, failed or not
  std::map<std::string, std::optional<host::Mount>> mounts_;  ///< of files, when first read
  std::optional<Pending> pending_;
  /// When to retry without a change: a system call had failed.
  std::optional<std::chrono::steady_clock::time_point> retry_at_;
  std::shared_ptr<const access::Access> access_ = access::open_access();
};

}  // namespace pex::daemon
