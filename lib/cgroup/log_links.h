#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cgroup/file_stamp.h"

namespace pex::cgroup {

/// The names of a container in Kubernetes; the path of its cgroup contains only the id.
struct PodContainer {
  std::string pod;
  std::string namespace_;  // NOLINT(readability-identifier-naming): a keyword without the '_'
  std::string container;

  auto operator<=>(const PodContainer&) const = default;
};

/// The content of the name of a link to a container's log.
struct LogLink {
  std::string container_id;  ///< 64 lowercase hexadecimal digits, as in the cgroup's path
  PodContainer names;

  bool operator==(const LogLink&) const = default;
};

/// Parses "<pod>_<namespace>_<container>-<container_id>.log" (kubernetes/kubernetes,
/// pkg/kubelet/kuberuntime/legacy.go, legacyLogSymlink). Nothing if the name has another form, or
/// one of the three is not what Kubernetes allows: a DNS label (RFC 1123), or for a pod several
/// with dots between. So they contain no '_', and no byte that must be escaped. The kubelet
/// truncates names beyond 255 bytes, and so their id: nothing either.
std::optional<LogLink> parse_log_link(std::string_view file_name);

/// The containers named by a directory of such links: /var/log/containers on a node of Kubernetes.
/// Names and targets of links are read, links are not followed and files not opened, so a plain
/// file serves as well as a link, but for the uid of its pod. Not thread-safe.
class LogLinks {
 public:
  using Clock = std::chrono::steady_clock;

  /// Far above any node's number (the kubelet allows 110 pods by default), but a bound.
  static constexpr std::size_t kMaxEntries = 100'000;

  explicit LogLinks(std::string directory, std::size_t max_entries = kMaxEntries);

  const std::string& directory() const { return directory_; }

  struct Update {
    bool has_changed = false;  ///< the known containers may be others, also if there is an error
    std::optional<Error> error = {};
  };

  /// Brings it up to date. Lists the directory if it has changed, as another one at its path has,
  /// and at least once a minute.
  ///
  /// An error describes a state, and is returned until the state ends:
  /// - the directory cannot be read (ENOENT: it does not exist). Known containers stay known.
  ///   Retried once a second.
  /// - it has more entries than `max_entries`, of whatever form (code 0). That many containers are
  ///   known, the first ones that the kernel lists.
  Update update(Clock::time_point now);

  /// Null if there is no link for it. If several links name one container, the first in the order
  /// of PodContainer. Valid until the next update().
  const PodContainer* find(std::string_view container_id) const;

  /// The same by the uid of the pod, which is in the target of each link:
  /// "/var/log/pods/<namespace>_<pod>_<uid>/<container>/0.log" (kubernetes/kubernetes,
  /// pkg/kubelet/kuberuntime/helpers.go, BuildPodLogsDirectory). For containers without a log: that
  /// of Kata with the virtual machine, and the one that holds a pod's network. `container` is
  /// empty.
  const PodContainer* find_pod(std::string_view uid) const;

 private:
  using Names = std::map<std::string, PodContainer, std::less<>>;

  bool is_due(const std::optional<FileStamp>& stamp, Clock::time_point now) const;
  bool list();
  void add_pod(const LogLink& link, const std::string& name, Names& pods) const;
  Error too_many() const;

  std::string directory_;
  std::size_t max_entries_;
  Names containers_;  ///< by their ids
  Names pods_;        ///< by their uids
  std::optional<Error> error_;
  Clock::time_point listed_at_;
  std::optional<FileStamp> stamp_;  ///< of the directory, just before it was listed
  bool may_have_changed_ = true;    ///< since then, and still have the same one
};

}  // namespace pex::cgroup
