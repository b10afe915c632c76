#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pex::collect {

/// A hash table of the entries of cgroup ids: flat, with linear probing, for a lookup at each
/// record. An Entry has the field `id`, which is 0 where a place is free: no cgroup has that id
/// (kernfs begins with 1). Pointers and references hold until the next insert() or keep_if().
template <typename Entry>
class IdTable {
 public:
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return entries_.size(); }

  /// Null if there is none. Entries follow one another, so the last one found is tried first.
  Entry* find(std::uint64_t id) {
    assert(id != 0);
    if (entries_[last_].id == id) return &entries_[last_];
    const std::size_t place = place_of(id);
    if (entries_[place].id == 0) return nullptr;
    last_ = place;
    return &entries_[place];
  }

  /// Adds an id that is not there. It never refuses: the caller bounds the size.
  Entry& insert(const Entry& entry) {
    assert(entry.id != 0);
    if ((size_ + 1) * 4 > capacity() * 3) {
      rebuild(capacity() * 2, [](const Entry&) { return true; });
    }
    last_ = place_of(entry.id);
    assert(entries_[last_].id == 0);
    ++size_;
    return entries_[last_] = entry;
  }

  /// Removes all entries but those for which `is_kept` holds, and fits the capacity to the rest.
  template <typename Predicate>
  void keep_if(Predicate is_kept) {
    std::size_t kept = 0;
    for (const Entry& entry : entries_) kept += entry.id != 0 && is_kept(entry) ? 1 : 0;
    std::size_t capacity = kMinCapacity;
    while (kept * 2 > capacity) capacity *= 2;
    if (kept < size_ || capacity < entries_.size()) rebuild(capacity, is_kept);
  }

 private:
  static constexpr std::size_t kMinCapacity = 16;

  /// Where the id is, or the free place for it. At least a quarter of the places is free.
  std::size_t place_of(std::uint64_t id) const {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // 2^64 over it: spreads any steps
    const std::size_t mask = capacity() - 1;
    const int shift = 64 - std::countr_zero(capacity());
    std::size_t place = (id * kGoldenRatio) >> shift;
    while (entries_[place].id != id && entries_[place].id != 0) place = (place + 1) & mask;
    return place;
  }

  template <typename Predicate>
  void rebuild(std::size_t capacity, Predicate is_kept) {
    const std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(capacity));
    last_ = size_ = 0;
    for (const Entry& entry : before) {
      if (entry.id == 0 || !is_kept(entry)) continue;
      entries_[place_of(entry.id)] = entry;
      ++size_;
    }
  }

  std::vector<Entry> entries_{kMinCapacity};  ///< a power of two
  std::size_t size_ = 0;
  std::size_t last_ = 0;  ///< place of the last one found or added
};

}  // namespace pex::collect
