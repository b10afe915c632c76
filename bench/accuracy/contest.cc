#include "contest.h"

namespace pex::bench {

Contest::Contest(std::size_t groups, double slot_ns, int poll_seconds, int skipped_seconds,
                 FiguresOfAll& figures)
    : poll_seconds_(poll_seconds), figures_(figures), shown_(groups) {
  for (const Formula& formula : formulas()) exporters_.push_back(formula.make(groups, slot_ns));
  judges_.assign(exporters_.size() * groups, Judge(poll_seconds, skipped_seconds));
}

void Contest::poll(int second, std::span<const Reading> readings) {
  if (second % poll_seconds_ != 0) return;
  auto judge = judges_.begin();
  for (std::size_t formula = 0; formula < exporters_.size(); ++formula) {
    exporters_[formula]->poll(readings, shown_);
    for (std::size_t g = 0; g < shown_.size(); ++g) {
      (judge++)->poll(static_cast<double>(readings[g].truth), shown_[g], figures_[formula]);
    }
  }
}

}  // namespace pex::bench
