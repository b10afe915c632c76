#pragma once

#include <cassert>
#include <compare>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>

namespace pex::perf {

/// Walks the elements of a view that returns them by value from operator[].
template <typename View>
class ElementIterator {
 public:
  // The library's names. NOLINTBEGIN(readability-identifier-naming)
  using value_type = typename View::value_type;
  using difference_type = std::ptrdiff_t;
  using reference = value_type;
  using pointer = void;
  using iterator_category = std::input_iterator_tag;  // as operator* returns no reference
  using iterator_concept = std::random_access_iterator_tag;
  // NOLINTEND(readability-identifier-naming)

  ElementIterator() = default;
  ElementIterator(const View& view, std::size_t at)
      : view_(view), at_(static_cast<difference_type>(at)) {}

  value_type operator*() const { return view_[static_cast<std::size_t>(at_)]; }
  value_type operator[](difference_type n) const { return *(*this + n); }

  ElementIterator& operator++() { return *this += 1; }
  ElementIterator& operator--() { return *this -= 1; }
  ElementIterator operator++(int) {
    const ElementIterator before = *this;
    ++*this;
    return before;
  }
  ElementIterator operator--(int) {
    const ElementIterator before = *this;
    --*this;
    return before;
  }
  ElementIterator& operator+=(difference_type n) {
    at_ += n;
    return *this;
  }
  ElementIterator& operator-=(difference_type n) { return *this += -n; }
  friend ElementIterator operator+(ElementIterator it, difference_type n) { return it += n; }
  friend ElementIterator operator+(difference_type n, ElementIterator it) { return it += n; }
  friend ElementIterator operator-(ElementIterator it, difference_type n) { return it -= n; }
  friend difference_type operator-(const ElementIterator& a, const ElementIterator& b) {
    return a.at_ - b.at_;
  }
  bool operator==(const ElementIterator& other) const { return at_ == other.at_; }
  auto operator<=>(const ElementIterator& other) const { return at_ <=> other.at_; }

 private:
  View view_{};
  difference_type at_ = 0;
};

/// The elements of an array in someone else's buffer, which need not be aligned there. Nothing is
/// copied but the element that is asked for; the buffer must outlive the view.
///
/// Example:
///   const std::array<std::byte, 17> buffer{std::byte{9}, std::byte{1}};
///   const PackedSpan<std::uint64_t> words{std::span(buffer).subspan(1)};
///   const std::uint64_t sum = std::accumulate(words.begin(), words.end(), std::uint64_t{0});
template <typename T>
requires std::is_trivially_copyable_v<T>
class PackedSpan {
 public:
  // The library's names. NOLINTBEGIN(readability-identifier-naming)
  using value_type = T;
  using const_iterator = ElementIterator<PackedSpan>;
  // NOLINTEND(readability-identifier-naming)

  PackedSpan() = default;
  /// All whole elements in `bytes`.
  explicit PackedSpan(std::span<const std::byte> bytes) noexcept
      : data_(bytes.data()), size_(bytes.size() / sizeof(T)) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// `index` must be less than size().
  T operator[](std::size_t index) const noexcept {
    assert(index < size_);
    T element;
    std::memcpy(&element, data_ + index * sizeof(T), sizeof(T));
    return element;
  }

  const_iterator begin() const noexcept { return {*this, 0}; }
  const_iterator end() const noexcept { return {*this, size_}; }

  std::span<const std::byte> bytes() const noexcept { return {data_, size_ * sizeof(T)}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pex::perf
