#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pex::bench {

/// What every renderer has to do at least to make a given text: copy what stands in front of each
/// number, and write the number. Nothing is looked up, escaped or decided.
class CopyFloor {
 public:
  explicit CopyFloor(std::string text);

  /// Makes it again, in memory that is there.
  void run();

  std::size_t samples() const { return samples_; }
  std::size_t bytes() const { return text_.size(); }

 private:
  struct Line {
    std::string_view copied;  ///< with the blank in front of the number
    std::uint64_t number = 0;
    bool has_number = false;
  };
  std::string text_;
  std::vector<Line> lines_;
  std::string copy_;
  std::size_t samples_ = 0;
};

}  // namespace pex::bench
