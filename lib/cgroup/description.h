#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/label_rules.h"
#include "cgroup/log_links.h"

namespace pex::cgroup {

/// What a cgroup is published with beside its path: labels, none of them empty.
struct Description {
  std::vector<Label> identity;     ///< on each of its series: what never changes while it lives
  std::vector<Label> information;  ///< on perf_cgroup_info only
  std::string container_id;        ///< empty when it is none

  bool operator==(const Description&) const = default;
};

/// Describes cgroups by what their paths say (path_info.h), by the operator's rules, and by the
/// names that Kubernetes gives containers, where `pods` has them. Not thread-safe.
class Describer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Describer(LabelRules rules = {}, std::optional<LogLinks> pods = {})
      : rules_(std::move(rules)), pods_(std::move(pods)) {}

  /// True when cgroups may have another description than before. Fails when the names of Kubernetes
  /// cannot be read; those known hold.
  Result<bool> update(Clock::time_point now);

  /// `before` is what was said of the same cgroup last, if anything: a container keeps its name
  /// after its log is gone, and the object is the same when nothing has changed.
  std::shared_ptr<const Description> describe(
      const std::string& path, const std::shared_ptr<const Description>& before) const;

 private:
  LabelRules rules_;
  std::optional<LogLinks> pods_;
};

}  // namespace pex::cgroup
