#include "rotation.h"

namespace pex::bench {
namespace {

std::uint64_t whole(double sum) { return static_cast<std::uint64_t>(sum); }

}  // namespace

void RotatingPmu::run(const Slot& slot, double slot_ns, bool beside_other) {
  const auto add = [&](Sums& sums) {
    sums.running_ns += slot_ns;
    sums.events += slot.events;
    sums.reference += slot.reference;
  };
  add(all_);
  const int fits = beside_other ? sharing_.fits_beside_other : sharing_.fits;
  for (int place = 0; place < fits; ++place) {
    add(groups_[static_cast<std::size_t>((head_ + place) % sharing_.groups)]);
  }
  head_ = (head_ + 1) % sharing_.groups;
}

void RotatingPmu::read(std::vector<Reading>& readings) const {
  readings.resize(groups_.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Sums& own = groups_[group];
    readings[group] = {.enabled_ns = whole(all_.running_ns),
                       .running_ns = whole(own.running_ns),
                       .events = whole(own.events),
                       .sampled = whole(own.reference),
                       .always = whole(all_.reference),
                       .always_enabled_ns = whole(all_.running_ns),
                       .truth = whole(all_.events)};
  }
}

}  // namespace pex::bench
