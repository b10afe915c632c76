#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/boot_clock.h"
#include "count/snapshot.h"
#include "exposition/metric_names.h"

namespace pex::exposition {

/// The labels that identify a cgroup, escaped and without braces: `cgroup="/a.service"`, and the
/// constant ones of its description.
std::string identity_of(std::string_view path, const cgroup::Description& description);

/// The rows of one table as they are published. In one string, as they are copied in order, once
/// for each of thousands of series.
class Rows {
 public:
  using Clock = BootClock;

  /// `labels` are escaped and without braces. Counting began at `since`.
  void add(std::string_view labels, Clock::time_point since);
  /// One without samples, whatever its numbers are.
  void add_hidden() {
    hidden_.push_back(size());
    add({}, {});
  }

  std::size_t size() const { return since_.size(); }
  std::string_view labels(std::size_t row) const {
    std::string_view labels = closed_labels(row);
    labels.remove_suffix(kClosing.size());
    return labels;
  }
  /// The same with the text between the last label and the number: "} ".
  std::string_view closed_labels(std::size_t row) const {
    return {text_.data() + ends_[row], ends_[row + 1] - ends_[row]};
  }
  Clock::time_point since(std::size_t row) const { return since_[row]; }

  std::span<const std::size_t> hidden() const { return hidden_; }  ///< rows, rising

  std::size_t bytes() const { return text_.size(); }  ///< of all closed labels
  /// False: they have no labels, like the row of the whole host.
  bool are_named() const { return text_.size() > size() * kClosing.size(); }

  static constexpr std::string_view kClosing = "} ";

 private:
  std::string text_;  ///< closed
  std::vector<std::size_t> ends_ = {0};
  std::vector<Clock::time_point> since_;
  std::vector<std::size_t> hidden_;
};

/// The rows of a snapshot.
class RowLabels {
 public:
  explicit RowLabels(const collect::Snapshot& snapshot);

  /// The rows of a group or a column of a scope.
  const Rows& of(Scope scope, Aggregation aggregation) const {
    return scope == Scope::kCgroup ? cgroups_ : host_[static_cast<std::size_t>(aggregation)];
  }
  /// The sums of a SumPlan, by its number.
  const Rows& of_sum(std::size_t number) const { return sums_[number]; }
  /// One for each cgroup and shared series that is published, with all its information.
  const Rows& information() const { return information_; }
  /// A single one without labels, for what has no rows.
  const Rows& unnamed() const { return unnamed_; }

 private:
  std::array<Rows, kAggregations> host_;
  Rows cgroups_;
  std::vector<Rows> sums_;
  Rows information_;
  Rows unnamed_;
};

}  // namespace pex::exposition
