#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/scripted_events.h"

namespace pex::test {

/// The bytes of a record: a header and `words`.
std::vector<std::byte> record_of(std::uint32_t type, std::span<const std::uint64_t> words);
/// A sample of so many bytes, header included, that are all different for each `number`.
std::vector<std::byte> numbered_record(std::uint64_t number, std::size_t bytes);

/// Writes to the ring of a mapped event, as the kernel does (kernel/events/ring_buffer.c): forward
/// or, for an event with write_backward, towards lower addresses; nothing where there is no room
/// or the ring is paused, and then a PERF_RECORD_LOST before the next record.
class ScriptedRing {
 public:
  /// `event` outlives it, and is not mapped again.
  explicit ScriptedRing(ScriptedEvents::Event& event);

  /// False: it was lost.
  bool write(std::span<const std::byte> record);
  std::uint64_t lost() const { return lost_; }  ///< and not written to the ring yet

  /// A kernel that makes no sense. Positions count from the beginning, as the kernel's do.
  void put(std::uint64_t position, std::span<const std::byte> bytes);
  void set_head(std::uint64_t head);

  std::uint64_t head() const { return head_; }
  std::uint64_t tail() const;
  std::size_t size() const { return ring_.size(); }

 private:
  bool has_room(std::size_t bytes) const;

  ScriptedEvents::Event& event_;
  std::span<std::byte> ring_;
  bool is_backward_;
  std::uint64_t head_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace pex::test
