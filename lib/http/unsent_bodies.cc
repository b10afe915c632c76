#include "http/unsent_bodies.h"

#include <utility>

namespace pex::http {

std::uint64_t UnsentBodies::begin(const Body& body, std::function<void()> drop) {
  Held& held = held_[body.get()];
  if (++held.clients == 1) bytes_ += held.bytes = body->capacity();
  for (auto oldest = sendings_.begin(); bytes_ > most_bytes_ && oldest != sendings_.end();) {
    const auto next = std::next(oldest);
    if (oldest->second.body != body.get()) {
      const std::function<void()> drop_it = std::move(oldest->second.drop);
      forget(oldest);
      drop_it();
    }
    oldest = next;
  }
  sendings_.emplace(++next_, Entry{body.get(), std::move(drop)});
  return next_;
}

void UnsentBodies::end(std::uint64_t sending) {
  if (const auto found = sendings_.find(sending); found != sendings_.end()) forget(found);
}

void UnsentBodies::forget(Sendings::iterator sending) {
  const auto held = held_.find(sending->second.body);
  if (--held->second.clients == 0) {
    bytes_ -= held->second.bytes;
    held_.erase(held);
  }
  sendings_.erase(sending);
}

}  // namespace pex::http
