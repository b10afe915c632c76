#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/snapshot.h"
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
class Renderer {
 public:
  /// Replaces the content of `text`; its memory is reused. `snapshot` is null before the first
  /// poll.
  void render(const collect::Snapshot* snapshot, const SelfReading& self,
              const RenderOptions& options, std::string& text);

 private:
  void remember(const collect::Snapshot& snapshot);
  void write(const collect::Snapshot& snapshot, const Selection& selection, FormatWriter& writer);

  // Not owned: the targets keep cgroups from being freed.
  std::weak_ptr<const collect::TargetSet> targets_;
  std::uint64_t layout_ = 0;       ///< TargetSet::layout
  std::uint64_t sums_layout_ = 0;  ///< Snapshot::sums_layout
  std::weak_ptr<const collect::CountingPlan> plan_;
  std::unique_ptr<const Catalogue> catalogue_;
  std::vector<Number> numbers_;  ///< of the run that is being written
};

}  // namespace pex::exposition
