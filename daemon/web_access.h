#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/file_stamps.h"
#include "http/access.h"

namespace pex::daemon {

/// Who may scrape, as the web configuration file says now. It and the files that it names are
/// looked at again whenever somebody comes in, so certificates and users change without a signal. A
/// change that cannot be used leaves in force what was there before.
class WebAccess {
 public:
  using Outcome = Result<void, std::vector<Error>>;
  using Clock = std::chrono::steady_clock;

  /// Without a file: plain HTTP for everybody.
  WebAccess() = default;

  /// Fails with everything that is wrong with the file and those it names. `remarks` gets what is
  /// taken and makes no difference.
  static Result<WebAccess, std::vector<Error>> load(const std::string& file,
                                                    std::vector<std::string>& remarks);

  /// What holds now; `on_reload` is told when it was read anew, how that went, and what is taken
  /// and makes no difference.
  using OnReload = std::function<void(const Outcome&, const std::vector<std::string>& remarks)>;
  std::shared_ptr<const http::Access> current(const OnReload& on_reload, Clock::time_point now);

  bool has_file() const { return !file_.empty(); }

 private:
  std::string file_;
  FileStamps stamps_;  ///< of the last attempt
  /// When to try again although nothing has changed: a system call had failed.
  std::optional<Clock::time_point> retry_at_;
  std::shared_ptr<const http::Access> access_ = http::open_access();
};

}  // namespace pex::daemon
