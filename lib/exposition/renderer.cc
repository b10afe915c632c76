#include "exposition/renderer.h"

#include <algorithm>

namespace pex::exposition {
namespace {

/// Whether any group that counts cgroups is selected, and so the information about cgroups.
bool has_cgroups(const Selection& selection, const collect::ScopePlan& plan) {
  if (selection.rule == Selection::Rule::kAll) return true;
  return std::any_of(plan.groups.begin(), plan.groups.end(), [&](const collect::GroupPlan& group) {
    return group.is_published && selection.has(collect::configured_name(group));
  });
}

}  // namespace

void Renderer::remember(const collect::Snapshot& snapshot) {
  const std::uint64_t layout = snapshot.targets->layout;
  const bool same_targets = layout != 0 ? layout == layout_ : targets_.lock() == snapshot.targets;
  const bool same_rows = same_targets && snapshot.sums_layout == sums_layout_;
  if (catalogue_ && plan_.lock() == snapshot.plan && same_rows) return;
  catalogue_ = std::make_unique<const Catalogue>(snapshot);
  plan_ = snapshot.plan;
  targets_ = snapshot.targets;
  layout_ = layout;
  sums_layout_ = snapshot.sums_layout;
}

void Renderer::write(const collect::Snapshot& snapshot, const Selection& selection,
                     FormatWriter& writer) {
  const bool with_cgroups = has_cgroups(selection, snapshot.plan->cgroup);
  for (const PublishedFamily& family : catalogue_->families()) {
    writer.begin(family.head);
    for (const SampleRun& run : family.runs) {
      if (run.group.empty() ? !with_cgroups : !selection.has(run.group)) continue;
      read(run, snapshot, numbers_);
      writer.write(run.before, *run.rows, run.behind, numbers_, run.since);
    }
  }
}

void Renderer::render(const collect::Snapshot* snapshot, const SelfReading& self,
                      const RenderOptions& options, std::string& text) {
  FormatWriter writer{options.format, options.created, text};
  if (snapshot != nullptr) {
    remember(*snapshot);
    write(*snapshot, options.selection, writer);
  }
  self.write(options.selection, writer);
  writer.finish();
}

}  // namespace pex::exposition
