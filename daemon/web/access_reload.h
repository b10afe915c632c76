#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/access.h"
#include "access/web_protections.h"
#include "base/result.h"
#include "daemon/status/moment.h"
#include "daemon/web/file_fingerprints.h"
#include "yaml/diagnostic.h"

namespace pex::daemon {

/// Who may scrape, as the web configuration file says. It and the files that it names are looked at
/// again whenever somebody comes in, so certificates and users change without a signal. What is in
/// force stays so until a changed file has stood still, can be used, and opens nothing that was
/// shut.
class AccessReload {
 public:
  /// How long a file must not have changed before it is read: who copies or edits it may be between
  /// two writes.
  static constexpr std::chrono::seconds kStandsStill{1};
  /// A file that has not stood still for so long is reported.
  static constexpr std::chrono::minutes kReportUnstableAfter{1};

  /// What a changed file has led to.
  struct Reload {
    std::vector<Error> errors;                  ///< why it cannot be used
    std::vector<access::Downgrade> downgrades;  ///< adopted, or those that are refused
    std::vector<yaml::Diagnostic> warnings;     ///< for the log
    bool is_adopted = false;                    ///< else what was in force before stays so
  };
  using OnReload = std::function<void(const Reload&)>;

  /// Without a file: plain HTTP for everybody.
  AccessReload() = default;

  /// Takes the file as it stands. Fails with everything that is wrong with it and those it names.
  /// `warnings` gets what an operator should know of a file that can be used.
  static Result<AccessReload, std::vector<Error>> load(const std::string& file,
                                                       std::vector<yaml::Diagnostic>& warnings);

  /// What holds now; `on_reload` is called when a changed file was read.
  std::shared_ptr<const access::Access> current(const OnReload& on_reload, const Moment& now);

  bool has_file() const { return !file_.empty(); }
  const access::WebProtections& in_force() const { return in_force_; }

 private:
  struct Reading;
  static Reading read(const std::string& file);

  /// A change that is too new to be read.
  struct Pending {
    FileFingerprints stamps;
    std::chrono::steady_clock::time_point since;  ///< the stamps have not changed
    std::chrono::steady_clock::time_point first;  ///< when the first of these changes was seen
    bool is_reported = false;
  };

  void look(const OnReload& on_reload, const Moment& now);
  bool has_stood_still(const FileFingerprints& seen, const Moment& now);
  void report_unstable(const OnReload& on_reload, const Moment& now);
  void settle(Reading reading, const OnReload& on_reload, const Moment& now);
  Reload decide(Reading& reading);

  std::string file_;
  FileFingerprints stamps_;  ///< of the last reading, whatever came of it
  std::optional<Pending> pending_;
  /// When to try again although nothing has changed: a system call had failed.
  std::optional<std::chrono::steady_clock::time_point> retry_at_;
  access::WebProtections in_force_;
  std::shared_ptr<const access::Access> access_ = access::open_access();
};

}  // namespace pex::daemon
