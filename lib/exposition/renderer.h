#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "count/snapshot.h"
#include "exposition/catalogue.h"
#include "exposition/format_writer.h"
#include "exposition/selection.h"
#include "exposition/self_metrics.h"

namespace pex::exposition {

/// The options of a request.
struct RenderOptions {
  Format format = Format::kText;
  Selection selection = {};
  bool created = false;  ///< the start time of each counter; OpenMetrics only

  auto operator<=>(const RenderOptions&) const = default;
};

/// Renders a snapshot, and the exporter's own metrics, as text. Values are exact: counts as
/// integers, clocks as seconds with up to nine decimals. A row without a value is left out; the
/// times of its groups show the reason. Caches the escaped labels of the last plan and targets, so
/// that rendering is copying; not thread-safe.
///
/// Of the last text without a selection, if it is not larger than kMaxKept, the samples of all
/// cgroups that have not changed since are copied in one piece for all that follow one another.
class Renderer {
 public:
  static constexpr std::size_t kMaxKept = std::size_t{8} << 20;  ///< bytes

  /// Replaces the content of `text`; its memory is reused. It must not be changed while anybody
  /// else holds it, such as this. `snapshot` is null before the first poll.
  void render(const collect::Snapshot* snapshot, const SelfReading& self,
              const RenderOptions& options, const std::shared_ptr<std::string>& text);

 private:
  /// The last text without a selection, of this catalogue.
  struct Kept {
    std::shared_ptr<const std::string> text;  ///< null: there is none
    RenderOptions options = {};
    std::uint64_t number = 0;                         ///< of the snapshot
    std::chrono::system_clock::time_point boot = {};  ///< which its start times are counted from
    std::vector<SamplePlaces> places = {};            ///< of each run, in order
  };

  void remember(const collect::Snapshot& snapshot);
  bool is_to_be_kept(const collect::Snapshot& snapshot, const RenderOptions& options) const;
  void begin_kept(const collect::Snapshot& snapshot, const RenderOptions& options);
  void write(const collect::Snapshot& snapshot, const Selection& selection, bool is_kept,
             FormatWriter& writer);
  void find_changed(const collect::Snapshot& snapshot);
  void keep(const std::shared_ptr<std::string>& text);

  // Not owned: the targets keep cgroups from being freed.
  std::weak_ptr<const collect::TargetSet> targets_;
  std::uint64_t layout_ = 0;       ///< TargetSet::layout
  std::uint64_t sums_layout_ = 0;  ///< Snapshot::sums_layout
  std::weak_ptr<const collect::CountingPlan> plan_;
  std::vector<bool> estimated_;  ///< GroupTable::is_estimated of all groups
  std::unique_ptr<const Catalogue> catalogue_;
  std::vector<Number> numbers_;  ///< of the run that is being written
  Kept kept_;
  bool is_too_large_ = false;               ///< the last text without a selection of this catalogue
  std::vector<collect::RowRange> changed_;  ///< rows of cgroups, since the kept text
};

}  // namespace pex::exposition
