#include "perf/group_interval.h"

#include <utility>

#include "base/increase.h"

namespace pex::perf {
namespace {

std::chrono::nanoseconds advance_time(std::uint64_t& last, std::chrono::nanoseconds now,
                                      bool& fell) {
  const auto before = std::chrono::nanoseconds{static_cast<std::int64_t>(last)};
  last = static_cast<std::uint64_t>(now.count());
  const auto more = increase(before, now);
  fell = fell || !more;
  return more.value_or(std::chrono::nanoseconds{0});
}

}  // namespace

void advance(std::span<std::uint64_t> last, const GroupReading& now, GroupInterval& since) {
  since.time_fell = false;
  since.enabled = advance_time(last[0], now.time_enabled, since.time_fell);
  since.running = advance_time(last[1], now.time_running, since.time_fell);
  since.lost = {};
  since.unreadable = now.unreadable;
  since.fell.reset();
  since.counts.resize(now.counts.size());
  std::uint64_t* before = last.data() + words_of_last_reading(0);
  for (std::size_t member = 0; member < now.counts.size(); ++member, ++before) {
    since.counts[member] = 0;
    if (now.unreadable.test(member)) continue;
    const auto more = increase(std::exchange(*before, now.counts[member]), now.counts[member]);
    if (!more) since.fell.set(member);
    since.counts[member] = more.value_or(0);
  }
}

}  // namespace pex::perf
