#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "count/snapshot.h"
#include "exposition/family.h"
#include "exposition/number.h"
#include "exposition/row_labels.h"

namespace pex::exposition {

/// Consecutive samples of one family: one for each row that has a number.
struct SampleRun {
  /// Fills in the numbers of rows from `first` on. `tables` are those of the run's rows.
  using Read = void (*)(const SampleRun& run, std::span<const collect::GroupTable> tables,
                        std::size_t first, std::span<Number> numbers);

  Scope scope = Scope::kCpu;
  std::optional<std::size_t> sum = {};  ///< of scope cgroup: the rows are those of this SumPlan
  std::string_view group = {};          ///< as configured; empty: of all that count cgroups
  std::string before = {};              ///< labels before those of the row, escaped
  std::string behind = {};              ///< labels after them
  const Rows* rows = nullptr;
  Read read = nullptr;                              ///< null: the number of cgroups in each sum
  const collect::PublishedEvent* column = nullptr;  ///< what is read; null: the group itself
  std::size_t table = 0;                            ///< of the group
  Rows::Clock::time_point since = {};  ///< counting began then, if that was after Rows::since()
};

struct PublishedFamily {
  FamilyHead head;
  std::vector<SampleRun> runs;
};

/// The rows of a scope, or of a sum of scope cgroup. Borrows from the snapshot.
struct ScopeView {
  Scope scope;
  const collect::ScopePlan& plan;
  std::span<const collect::GroupTable> tables;
  std::optional<std::size_t> sum;  ///< the number of its SumPlan

  const Rows& rows(const RowLabels& labels, Aggregation aggregation) const {
    return sum ? labels.of_sum(*sum) : labels.of(scope, aggregation);
  }
};
/// Those of the CPUs, of the cgroups if they are published, and of the sums.
std::vector<ScopeView> published_views(const collect::Snapshot& snapshot);

/// Their families of events.
std::vector<EventFamily> families_of(const ScopeView& view, const collect::CountingPlan& plan);

/// Adds it, or its runs to the family of its name.
void add_family(PublishedFamily family, std::vector<PublishedFamily>& families);

/// The families and series that snapshots of one plan and one set of targets, with the same
/// estimated groups, are published as, with their labels, in order, and where in the snapshot their
/// numbers are.
class Catalogue {
 public:
  explicit Catalogue(const collect::Snapshot& snapshot);
  Catalogue(const Catalogue&) = delete;  // the runs borrow from it
  Catalogue& operator=(const Catalogue&) = delete;

  const std::vector<PublishedFamily>& families() const { return families_; }

  /// Which rows of the run differ from those of an earlier snapshot.
  enum class Changes {
    kAny,
    kOfCgroups,  ///< those of cgroups that have changed
    kNone,
  };
  Changes changes(const SampleRun& run) const;

 private:
  std::shared_ptr<const collect::CountingPlan> plan_;
  RowLabels rows_;
  std::vector<PublishedFamily> families_;
};

/// Reads row by row; `at` is inlined, as there are many rows.
template <Number (*at)(const SampleRun&, std::span<const collect::GroupTable>, std::size_t row)>
void read_rows(const SampleRun& run, std::span<const collect::GroupTable> tables, std::size_t first,
               std::span<Number> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = at(run, tables, first + i);
}

/// Reads the numbers of `run` in `snapshot`, one for each row, into `numbers`, whose memory is
/// reused.
void read(const SampleRun& run, const collect::Snapshot& snapshot, std::vector<Number>& numbers);
/// Only those of some rows; the others are any.
void read(const SampleRun& run, const collect::Snapshot& snapshot,
          std::span<const collect::RowRange> rows, std::vector<Number>& numbers);

}  // namespace pex::exposition
