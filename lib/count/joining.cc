#include "count/joining.h"

#include <algorithm>
#include <utility>

namespace pex::collect {
namespace {

std::uint64_t new_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

/// So many increments are added, or rows settled, in about a millisecond.
constexpr std::size_t kStepsOfAPiece = 16'384;

}  // namespace

Joining::Joining(Ledger& ledger, std::vector<PollCycle*> parts)
    : ledger_(ledger), parts_(std::move(parts)), number_(new_number()) {
  std::size_t increments = 0;
  for (const PollCycle* const part : parts_) {
    ledger_.add_own(*part);
    for (const TargetGroups& group : part->groups_of_cgroups()) {
      increments += group.increments().size();
    }
  }
  ledger_.find_changed();
  ranges_ = (ledger_.slots() + Ledger::kSlotsOfARange - 1) / Ledger::kSlotsOfARange;
  pieces_ = std::min(ranges_, (increments + ledger_.changed_rows()) / kStepsOfAPiece + 1);
}

void Joining::add(std::size_t piece) {
  const SlotRange range{
      ranges_ * piece / pieces_ * Ledger::kSlotsOfARange,
      std::min(ranges_ * (piece + 1) / pieces_ * Ledger::kSlotsOfARange, ledger_.slots())};
  for (const PollCycle* const part : parts_) {
    if (piece == 0) ledger_.add_to_sums(*part);  // a sum has cgroups of all ranges
    ledger_.add_cgroups(*part, range);
  }
  ledger_.settle(range, number_);
}

bool Joining::work() {
  for (std::size_t piece = begun_++; piece < pieces_; piece = begun_++) {
    add(piece);
    if (++done_ == pieces_) return true;
  }
  return false;
}

Snapshot Joining::take(const EventModels& models) {
  for (PollCycle* const part : parts_) part->clear_increments();
  return ledger_.snapshot(number_, models);
}

}  // namespace pex::collect
