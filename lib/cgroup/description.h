#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/container_names.h"
#include "cgroup/label_rules.h"
#include "cgroup/log_links.h"
#include "host/side_thread.h"

namespace pex::cgroup {

/// Labels that name the pod of a container, on perf_cgroup_info only.
inline constexpr std::string_view kPodLabels[] = {"pod", "namespace", "container"};

/// Labels that an engine or an operator gives to a container, on perf_cgroup_info only.
inline constexpr std::string_view kContainerLabels[] = {"container", "image"};

/// The labels of a cgroup in addition to its path; none is empty.
struct Description {
  std::vector<Label> identity;     ///< on each of its series: what never changes while it lives
  std::vector<Label> information;  ///< on perf_cgroup_info only
  std::string container_id;        ///< empty if it is not a container
  bool is_delegated = false;       ///< see PathInfo
  std::string series_path = {};    ///< if others may share it (cgroup/series_path.h); else empty
  std::shared_ptr<const Description> of_series = {};  ///< of a cgroup at that path; else null
  std::size_t of_root = kAllNames;                    ///< names_of_root()
  bool has_lost_ids = false;  ///< see take_claimed_ids(): it does not get them again
  std::string too_long = {};  ///< a label that is left out for its length; else empty

  bool operator==(const Description&) const = default;
};

/// A cgroup and its description.
struct DescribedCgroup {
  const std::string* path;
  std::shared_ptr<const Description>* description;
};

/// Cgroups that are not within each other may name the same container or pod. Delegated ones lose
/// their ids to one that is not delegated, or else to the one that is nearest to the root. Returns
/// the paths of those that have lost them.
std::vector<std::string> take_claimed_ids(std::span<const DescribedCgroup> cgroups);

/// Describes cgroups by their paths (path_info.h), by the operator's rules, and by the names that
/// Kubernetes or an engine gives containers, if `pods` or `containers` has them. Not thread-safe.
class Describer {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTimeout{20};

  explicit Describer(LabelRules rules = {}, std::optional<LogLinks> pods = {},
                     std::optional<ContainerNames> containers = {},
                     std::size_t max_label_bytes = kMaxLabelBytes,
                     std::chrono::milliseconds timeout = kTimeout);

  struct Update {
    bool has_changed = false;        ///< the descriptions of cgroups may be others
    std::vector<Error> errors = {};  ///< names that cannot be read; the known ones stay
  };
  /// Reads changed names, and waits for their file systems: the first time a second, then for
  /// `timeout`. Until they answer, cgroups keep their names, and new ones get none.
  Update update(Clock::time_point now);

  /// `before` is the previous description of the same cgroup, if any: a container keeps its name
  /// after its log is gone, and the result is the same object if nothing has changed. `of_root` of
  /// one that has none: names_of_root().
  std::shared_ptr<const Description> describe(const std::string& path,
                                              const std::shared_ptr<const Description>& before,
                                              std::size_t of_root = kAllNames) const {
    return describe(path, before, before ? before->of_root : of_root, false);
  }

 private:
  std::shared_ptr<const Description> describe(const std::string& path,
                                              const std::shared_ptr<const Description>& before,
                                              std::size_t of_root, bool is_series) const;
  /// Of the thread while it is busy, but for `files`.
  struct Names {
    void update();

    const std::string files;  ///< as in an error
    std::optional<LogLinks> pods;
    std::optional<ContainerNames> containers;
    Clock::time_point at = {};  ///< of the last update
    Update last = {};
  };

  LabelRules rules_;
  std::shared_ptr<Names> names_;  ///< null: no labels but those of paths and rules
  std::unique_ptr<host::SideThread> thread_;
  std::chrono::milliseconds timeout_;
  Clock::time_point began_ = {};  ///< to read
  bool has_answered_ = false;
  bool is_late_ = false;         ///< cgroups were described while the thread was busy
  std::size_t max_label_bytes_;  ///< longer values of rules and names are left out
};

}  // namespace pex::cgroup
