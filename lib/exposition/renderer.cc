#include "exposition/renderer.h"

#include <algorithm>
#include <utility>

#include "base/boot_clock.h"

namespace pex::exposition {
namespace {

/// Whether any group that counts cgroups is selected, and so the information about cgroups.
bool has_cgroups(const Selection& selection, const collect::ScopePlan& plan) {
  if (selection.rule == Selection::Rule::kAll) return true;
  return std::any_of(plan.groups.begin(), plan.groups.end(), [&](const collect::GroupPlan& group) {
    return group.is_published && selection.has(collect::configured_name(group));
  });
}

std::vector<bool> estimated_groups(const collect::Snapshot& snapshot) {
  std::vector<bool> groups;
  for (const auto* tables : {&snapshot.cpu, &snapshot.cgroup}) {
    for (const collect::GroupTable& table : *tables) groups.push_back(table.is_estimated);
  }
  return groups;
}

}  // namespace

void Renderer::remember(const collect::Snapshot& snapshot) {
  const std::uint64_t layout = snapshot.targets->layout;
  const bool same_targets = layout != 0 ? layout == layout_ : targets_.lock() == snapshot.targets;
  const bool same_rows = same_targets && snapshot.sums_layout == sums_layout_;
  std::vector<bool> estimated = estimated_groups(snapshot);
  const bool same_families = plan_.lock() == snapshot.plan && estimated == estimated_;
  if (catalogue_ && same_families && same_rows) return;
  catalogue_ = std::make_unique<const Catalogue>(snapshot);
  plan_ = snapshot.plan;
  estimated_ = std::move(estimated);
  targets_ = snapshot.targets;
  layout_ = layout;
  sums_layout_ = snapshot.sums_layout;
  kept_ = {};
  is_too_large_ = false;
}

bool Renderer::is_to_be_kept(const collect::Snapshot& snapshot,
                             const RenderOptions& options) const {
  return options.selection == Selection{} && snapshot.number > 0 && !is_too_large_;
}

/// What is kept is then of `snapshot`; its text, if there is one, is still that of an earlier one.
void Renderer::begin_kept(const collect::Snapshot& snapshot, const RenderOptions& options) {
  const auto boot = boot_date();
  if (kept_.options != options || kept_.number > snapshot.number || kept_.boot != boot) {
    kept_.text = nullptr;
  }
  find_changed(snapshot);
  kept_.options = options;
  kept_.boot = boot;
  kept_.number = snapshot.number;
}

/// If the text is to be kept, reads and writes what has changed since the kept one, and copies the
/// rest from that.
void Renderer::write(const collect::Snapshot& snapshot, const Selection& selection, bool is_kept,
                     FormatWriter& writer) {
  const bool with_cgroups = has_cgroups(selection, snapshot.plan->cgroup);
  std::size_t number = 0;
  for (const PublishedFamily& family : catalogue_->families()) {
    writer.begin(family.head);
    for (const SampleRun& run : family.runs) {
      if (run.group.empty() ? !with_cgroups : !selection.has(run.group)) continue;
      const auto changes = is_kept ? catalogue_->changes(run) : Catalogue::Changes::kAny;
      const std::size_t place = number++;
      if (changes == Catalogue::Changes::kAny) {
        read(run, snapshot, numbers_);
        writer.write(run.before, *run.rows, run.behind, numbers_, run.since);
        continue;
      }
      if (place >= kept_.places.size()) kept_.places.resize(place + 1);
      SamplePlaces& places = kept_.places[place];
      if (!kept_.text) {
        read(run, snapshot, numbers_);
        writer.write(run.before, *run.rows, run.behind, numbers_, run.since, places);
        continue;
      }
      std::span<const collect::RowRange> changed = changed_;
      if (changes == Catalogue::Changes::kNone) changed = {};
      read(run, snapshot, changed, numbers_);
      writer.rewrite(run.before, *run.rows, run.behind, numbers_, run.since, *kept_.text, changed,
                     places);
    }
  }
}

/// Rows of cgroups.
void Renderer::find_changed(const collect::Snapshot& snapshot) {
  changed_.clear();
  for (std::size_t row = 0; row < snapshot.cgroup_rows.size(); ++row) {
    if (snapshot.same_since[snapshot.cgroup_rows[row].target] <= kept_.number) continue;
    if (changed_.empty() || changed_.back().end != row) changed_.push_back({row, row});
    changed_.back().end = row + 1;
  }
}

void Renderer::keep(const std::shared_ptr<std::string>& text) {
  kept_.text = text;
  is_too_large_ = text->size() > kMaxKept;
  if (is_too_large_) kept_ = {};
}

void Renderer::render(const collect::Snapshot* snapshot, const SelfReading& self,
                      const RenderOptions& options, const std::shared_ptr<std::string>& text) {
  FormatWriter writer{options.format, options.created, *text};
  if (snapshot != nullptr) remember(*snapshot);
  const bool is_kept = snapshot != nullptr && is_to_be_kept(*snapshot, options);
  if (is_kept) begin_kept(*snapshot, options);
  if (snapshot != nullptr) write(*snapshot, options.selection, is_kept, writer);
  self.write(options.selection, writer);
  writer.finish();
  if (is_kept) keep(text);
}

}  // namespace pex::exposition
