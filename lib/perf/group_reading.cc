#include "perf/group_reading.h"

#include <cerrno>

namespace pex::perf {
namespace {

Error malformed(std::span<const std::uint64_t> words, std::size_t events) {
  return Error{EBADMSG,
               "decode " + std::to_string(words.size()) + " words as a group of " +
                   std::to_string(events) + " events",
               {}};
}

}  // namespace

void GroupReading::keep_first(std::size_t members) {
  counts.resize(members);
  for (std::size_t member = members; member < unreadable.size(); ++member) unreadable.reset(member);
}

Result<> decode_group(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids,
                      GroupReading& reading) {
  if (words.size() != words_in_reading(ids.size()) || words[0] != ids.size()) {
    return malformed(words, ids.size());
  }
  reading.state = GroupReading::State::kCounting;
  reading.time_enabled = std::chrono::nanoseconds{words[1]};
  reading.time_running = std::chrono::nanoseconds{words[2]};
  reading.counts.resize(ids.size());
  reading.unreadable.reset();
  const std::span<const std::uint64_t> pairs = words.subspan(3);
  for (std::size_t event = 0; event < ids.size(); ++event) {
    // Every kernel so far answers in the order of opening, so the first comparison nearly always
    // hits.
    std::size_t at = event;
    if (pairs[2 * at + 1] != ids[event]) {
      for (at = 0; at < ids.size() && pairs[2 * at + 1] != ids[event];) ++at;
      if (at == ids.size()) return malformed(words, ids.size());
    }
    reading.counts[event] = pairs[2 * at];
  }
  return {};
}

}  // namespace pex::perf
