#include "records/sum_rows.h"

#include <algorithm>
#include <utility>

namespace pex::collect {

bool SumRows::add_group(std::size_t group, std::size_t counts) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  if (words(group) == counts + kTimes) return false;
  resize_group(group, 0);  // of another group with this number nothing is left
  resize_group(group, counts + kTimes);
  for (std::size_t row = 0; row * stride_ < words_.size(); ++row) {
    word(row, groups_[group].first) = enabled(row);
  }
  return true;
}

void SumRows::remove_group(std::size_t group) {
  if (has_group(group)) resize_group(group, 0);
}

/// Moves all rows, which is rare: the groups change when the configuration does.
void SumRows::resize_group(std::size_t group, std::size_t words) {
  std::vector<Segment> next = groups_;
  next[group].words = words;
  std::size_t stride = 1;
  for (Segment& segment : next) {
    segment.first = stride;
    stride += segment.words;
  }
  std::vector<std::uint64_t> moved(words_.size() / stride_ * stride);
  for (std::size_t row = 0; row * stride < moved.size(); ++row) {
    moved[row * stride] = enabled(row);
    for (std::size_t each = 0; each < next.size(); ++each) {
      std::copy_n(words_.data() + row * stride_ + groups_[each].first,
                  std::min(groups_[each].words, next[each].words),
                  moved.data() + row * stride + next[each].first);
    }
  }
  groups_ = std::move(next);
  stride_ = stride;
  words_ = std::move(moved);
}

void SumRows::clear(std::size_t row) {
  if (words_.size() < (row + 1) * stride_) words_.resize((row + 1) * stride_);
  std::fill_n(words_.data() + row * stride_, stride_, 0);
}

SumRows::Times SumRows::take(std::size_t row, std::size_t group, std::span<std::uint64_t> counts) {
  std::uint64_t* const of = &word(row, groups_[group].first);
  const Times times{enabled(row) - of[0], of[1]};
  std::copy_n(of + kTimes, counts.size(), counts.begin());
  std::fill_n(of, words(group), 0);
  of[0] = enabled(row);
  return times;
}

void SumRows::add_row(std::size_t row, std::size_t other) {
  const std::uint64_t* increment = words_.data() + other * stride_;
  std::uint64_t* sum = &word(row, 0);
  for (std::size_t at = 0; at < stride_; ++at) add(sum[at], increment[at]);
}

}  // namespace pex::collect
