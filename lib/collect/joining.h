#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "collect/cpu_totals.h"
#include "collect/learning.h"
#include "collect/snapshot.h"

namespace pex::collect {

/// Joins the totals of all CPUs, by rising CPU, to what is published of `targets`. Those of a CPU
/// that is late are of an earlier poll: they stand still, and what it has not opened yet leaves the
/// row without a value. A row's value is known when no CPU fails to count or to read it, and
///   - in scope cpu each of its CPUs has had the PMU, and none has been without it for more than
///     estimate::kMaxImputed: it is as good as the worst of them. A CPU that comes when the others
///     are counted already joins once it has had the PMU, and must have had it within that time;
///   - in scope cgroup at least one has had it: what a starved CPU counts joins once it has the
///     PMU. When one has been without it for longer than that, another one must have had it since
///     the last poll;
///   - or, in scope cgroup, it was read and has never run anywhere, which is an exact zero.
/// A total that is not known stands still, and goes on from there once it is known again.
///
/// The cgroups are joined in pieces, each by any thread; the CPUs beforehand.
class Joining {
 public:
  /// `parts` outlive it, and do not change meanwhile.
  Joining(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
          const EventModels& models, std::span<const CpuTotals* const> parts);
  ~Joining();
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

  /// Each about a millisecond of work or less; none where there are no cgroups.
  std::size_t pieces() const { return pieces_; }

  /// Once for each piece. Different pieces may be joined at the same time.
  void join(std::size_t piece);

  /// Joins one piece after another, until there is none that nobody has begun; by any number of
  /// threads at the same time. True for the one that has ended the last of all.
  bool work();

  /// When all pieces are joined.
  Snapshot take() { return std::move(snapshot_); }

 private:
  class Part;

  void add_cpu_rows(const EventModels& models, std::span<const CpuTotals* const> parts);
  void add_cgroup_rows(const EventModels& models, std::span<const CpuTotals* const> parts);

  Snapshot snapshot_;
  std::vector<Part> parts_;
  std::size_t pieces_ = 0;
  std::atomic<std::size_t> begun_ = 0;
  std::atomic<std::size_t> done_ = 0;
};

/// The same at once.
Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              const EventModels& models, std::span<const CpuTotals* const> parts);

}  // namespace pex::collect
