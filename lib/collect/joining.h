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

/// Joins the totals of all CPUs, by rising CPU, to the published totals of `targets`. Those of a
/// late CPU are from an earlier poll: they stand still, and a target that it has not opened yet, or
/// that has ended meanwhile, leaves the row without a value. A row's value is known if no CPU fails
/// to count or to read it, and
///   - in scope cpu each of its CPUs has had the PMU, and none has been without it for more than
///     estimate::kMaxImputed: the row is as good as the worst of them. A CPU that appears when the
///     others are counted already joins once it has had the PMU, and must have had it within that
///     time;
///   - in scope cgroup at least one has had it: a starved CPU joins once it has the PMU. If one has
///     been without it for longer than that, another one must have had it since the last poll;
///   - or, in scope cgroup, it was read and has never run anywhere, which is an exact zero.
/// An unknown total stands still, and continues from there once it is known again.
///
/// The cgroups are joined in pieces, each by any thread; the CPUs before them. Only those cgroups
/// are added up that have changed on any CPU since the snapshot before; the rows of the others are
/// those that it has. After a change of the targets or the plan, and where a CPU was late, that is
/// every cgroup.
class Joining {
 public:
  /// `parts` outlive it, and do not change meanwhile. `before` is an earlier result, or null.
  Joining(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
          const EventModels& models, std::span<const CpuTotals* const> parts,
          const std::shared_ptr<const Snapshot>& before = nullptr);
  ~Joining();
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

  /// Each about a millisecond of work or less; none if no cgroup is to be added up.
  std::size_t pieces() const { return pieces_; }

  /// Once for each piece. Different pieces may be joined in parallel.
  void join(std::size_t piece);

  /// Joins one piece after another, until all have been begun; by any number of
  /// threads at the same time. True for the one that has ended the last of all.
  bool work();
  bool is_done() const { return done_ == pieces_; }

  /// After all pieces have been joined.
  Snapshot take() { return std::move(snapshot_); }

 private:
  class Part;

  void add_cpu_rows(const EventModels& models, std::span<const CpuTotals* const> parts);
  void add_cgroup_rows(const EventModels& models, std::span<const CpuTotals* const> parts);
  void find_due(std::span<const CpuTotals* const> parts);

  std::shared_ptr<const Snapshot> before_;  ///< null: all cgroups are added up
  Snapshot snapshot_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> due_;  ///< the targets to add up
  std::size_t pieces_ = 0;
  std::atomic<std::size_t> begun_ = 0;
  std::atomic<std::size_t> done_ = 0;
};

/// The same in one call, of all cgroups.
Snapshot join(std::shared_ptr<const CountingPlan> plan, std::shared_ptr<const TargetSet> targets,
              const EventModels& models, std::span<const CpuTotals* const> parts);

}  // namespace pex::collect
