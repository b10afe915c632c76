#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

struct inotify_event;

namespace pex::cgroup {

/// What Kubernetes calls a container, of which a cgroup's path tells only the id.
struct PodContainer {
  std::string pod;
  std::string namespace_;  // NOLINT(readability-identifier-naming): a keyword without the '_'
  std::string container;

  auto operator<=>(const PodContainer&) const = default;
};

/// What the name of a link to a container's log says.
struct LogLink {
  std::string container_id;  ///< 64 lowercase hexadecimal digits, as in the cgroup's path
  PodContainer names;

  auto operator<=>(const LogLink&) const = default;
};

/// Takes "<pod>_<namespace>_<container>-<container_id>.log" apart (kubernetes/kubernetes,
/// pkg/kubelet/kuberuntime/legacy.go, legacyLogSymlink). Nothing when the name is of another form,
/// or when one of the three is not what Kubernetes allows: a DNS label (RFC 1123), or for a pod
/// several with dots between. So they hold no '_', and no byte that would have to be escaped.
/// Of names beyond 255 bytes the kubelet cuts off the end, and with it the id: nothing either.
std::optional<LogLink> parse_log_link(std::string_view file_name);

/// The containers that a directory of such links tells of: /var/log/containers on a node of
/// Kubernetes. Only names are read; what stands behind them is neither followed nor opened, so that
/// a plain file tells as much as a link. Holds one descriptor, and one more while it lists. Not
/// thread-safe.
class LogLinks {
 public:
  using Clock = std::chrono::steady_clock;

  /// Far beyond any node's (the kubelet takes 110 pods unless told otherwise), yet a bound.
  static constexpr std::size_t kMaxEntries = 100'000;

  explicit LogLinks(std::string directory, std::size_t max_entries = kMaxEntries);

  /// Brings it up to date; true when what is known may have changed. Takes what inotify(7) reported
  /// since the last call, and allocates nothing when that is nothing. Lists the directory the first
  /// time, when it was replaced, when reports were lost, and once a minute in any case; where it
  /// cannot be watched (a limit of inotify is reached), once a second.
  ///
  /// An error tells of a state, and is returned until that is over:
  /// - the directory cannot be read (ENOENT: there is none). What was known stays known. It is
  /// tried
  ///   again once a second.
  /// - it has more entries than `max_entries`, of whichever form (code 0). The containers of that
  ///   many are known, whichever the kernel told first, and may have changed with this call. It is
  ///   counted anew once a minute.
  Result<bool> update(Clock::time_point now);

  /// Null when there is no link for it. Where several name one container, the first in the order
  /// of PodContainer. Valid until the next update().
  const PodContainer* find(std::string_view container_id) const;

 private:
  /// Finds by the id alone as well; nothing is allocated for that.
  struct ById {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    bool operator()(const LogLink& a, const LogLink& b) const { return a < b; }
    bool operator()(const LogLink& a, std::string_view id) const { return a.container_id < id; }
    bool operator()(std::string_view id, const LogLink& b) const { return id < b.container_id; }
  };
  using Links = std::set<LogLink, ById>;

  bool take_reports();
  bool take(std::span<const char> reports);
  bool take(const inotify_event& report);
  bool add(LogLink link);
  bool list();
  void watch();
  Error too_many() const;

  std::string directory_;
  std::size_t max_entries_;
  UniqueFd inotify_;
  int watch_ = -1;  ///< negative: none, so that only listing tells
  Links links_;
  std::optional<Error> error_;
  std::optional<Clock::time_point> listed_;
  bool list_soon_ = false;  ///< reports do not tell all: in a second rather than in a minute
};

}  // namespace pex::cgroup
