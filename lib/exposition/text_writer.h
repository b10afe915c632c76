#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/snapshot.h"
#include "exposition/metric_names.h"

namespace pex::exposition {

/// A snapshot in the Prometheus text format 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats). Values are exact: counts as integers,
/// clocks as seconds with up to nine decimals. A row without a value is left out; the times of its
/// groups are the evidence why. Keeps the escaped labels of the last targets, so that writing is
/// copying; not thread-safe.
class TextWriter {
 public:
  /// Appends to `text`.
  void write(const collect::Snapshot& snapshot, std::string& text);

 private:
  /// Families, and the labels of the rows of both scopes without braces:
  /// `cgroup="/system.slice/a.service"`.
  void remember(const collect::Snapshot& snapshot);

  std::weak_ptr<const collect::TargetSet>
      targets_;  ///< not held: it keeps cgroups from being freed
  std::array<std::vector<std::string>, collect::kAggregations> host_labels_;
  std::vector<std::string> cgroup_labels_;
  std::weak_ptr<const collect::CountingPlan> plan_;  ///< that the families borrow from
  std::vector<EventFamily> cpu_families_;
  std::vector<EventFamily> cgroup_families_;
};

/// A label's value between its quotes: backslash, quote and line break escaped; a byte that is not
/// part of UTF-8 becomes U+FFFD and its two hexadecimal digits, as does each byte of a U+FFFD that
/// was there before. So different values stay different, and no two series become one.
std::string escape_label(std::string_view value);

}  // namespace pex::exposition
