#include "support/scripted_ring.h"

#include <cstring>

namespace pex::test {

std::vector<std::byte> record_of(std::uint32_t type, std::span<const std::uint64_t> words) {
  perf_event_header header{};
  header.type = type;
  header.size = static_cast<std::uint16_t>(sizeof header + words.size_bytes());
  std::vector<std::byte> record(header.size);
  std::memcpy(record.data(), &header, sizeof header);
  if (!words.empty()) std::memcpy(&record[sizeof header], words.data(), words.size_bytes());
  return record;
}

std::vector<std::byte> numbered_record(std::uint64_t number, std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof number - 1);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = (number << 16) + i;
  return record_of(PERF_RECORD_SAMPLE, words);
}

ScriptedRing::ScriptedRing(ScriptedEvents::Event& event)
    : event_(event),
      ring_(event.memory.bytes().subspan(event.page()->data_offset, event.page()->data_size)),
      is_backward_((event.attr.flags & perf::attr_flag(perf::AttrFlag::kWriteBackward)) != 0),
      head_(event.page()->data_head) {}

std::uint64_t ScriptedRing::tail() const {
  return __atomic_load_n(&event_.page()->data_tail, __ATOMIC_ACQUIRE);
}

/// One byte always stays free, so that full and empty differ.
bool ScriptedRing::has_room(std::size_t bytes) const {
  if (!event_.is_writable) return true;
  const std::uint64_t used = is_backward_ ? tail() - head_ : head_ - tail();
  return used + bytes < size();
}

bool ScriptedRing::write(std::span<const std::byte> record) {
  const std::uint64_t words[] = {event_.id, lost_};
  std::vector<std::byte> bytes =
      lost_ > 0 ? record_of(PERF_RECORD_LOST, words) : std::vector<std::byte>{};
  bytes.insert(bytes.end(), record.begin(), record.end());
  if (event_.is_paused || !has_room(bytes.size())) {
    ++lost_;
    return false;
  }
  lost_ = 0;
  if (is_backward_) {
    set_head(head_ - bytes.size());
    put(head_, bytes);
  } else {
    put(head_, bytes);
    set_head(head_ + bytes.size());
  }
  return true;
}

void ScriptedRing::put(std::uint64_t position, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) ring_[position++ & (size() - 1)] = byte;
}

void ScriptedRing::set_head(std::uint64_t head) {
  head_ = head;
  __atomic_store_n(&event_.page()->data_head, head, __ATOMIC_RELEASE);
}

}  // namespace pex::test
