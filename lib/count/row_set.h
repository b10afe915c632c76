#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pex::collect {

/// Resizes an array of targets, and gives the memory of a burst of cgroups back.
template <typename T, typename... Blank>
void fit(std::vector<T>& values, std::size_t size, const Blank&... blank) {
  values.resize(size, blank...);
  if (values.capacity() / 4 > size) values.shrink_to_fit();
}

/// A set of targets, by their slots: a bit for each. All targets of a large machine are a few
/// hundred bytes, so what is done with a whole set takes next to no time.
class RowSet {
 public:
  explicit RowSet(std::size_t rows = 0) { reset(rows); }

  /// Empty, of so many rows.
  void reset(std::size_t rows) {
    rows_ = rows;
    words_.assign((rows + kBits - 1) / kBits, 0);
  }
  /// The first of them stay, as many as there are now.
  void resize(std::size_t rows) {
    rows_ = rows;
    words_.resize((rows + kBits - 1) / kBits);
    if (rows % kBits != 0) words_.back() &= bit(rows) - 1;
  }
  std::size_t rows() const { return rows_; }

  void add(std::size_t row) { words_[row / kBits] |= bit(row); }
  void remove(std::size_t row) { words_[row / kBits] &= ~bit(row); }
  bool has(std::size_t row) const { return (words_[row / kBits] & bit(row)) != 0; }

  // Of any row: the set grows with what is added.

  bool contains(std::size_t row) const { return row < rows_ && has(row); }
  void set(std::size_t row, bool is_in) {
    if (is_in && row >= rows_) resize(row + 1);
    if (row < rows_) is_in ? add(row) : remove(row);
  }

  void clear() { words_.assign(words_.size(), 0); }

  void add_all() {
    words_.assign(words_.size(), ~std::uint64_t{0});
    if (rows_ % kBits != 0) words_.back() = bit(rows_) - 1;
  }
  /// `other` has as many rows.
  void add_all(const RowSet& other) {
    assert(rows_ == other.rows_);
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

  std::size_t size() const {
    std::size_t size = 0;
    for (const std::uint64_t word : words_) size += static_cast<std::size_t>(std::popcount(word));
    return size;
  }

  /// Calls `step(row)` for each, rising.
  template <typename Step>
  void for_each(Step step) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        step(i * kBits + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  static constexpr std::size_t kBits = 64;

  static std::uint64_t bit(std::size_t row) { return std::uint64_t{1} << (row % kBits); }

  std::size_t rows_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace pex::collect
