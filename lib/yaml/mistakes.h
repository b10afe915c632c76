#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "yaml/position.h"

namespace pex::yaml {

/// A mistake at `position`, in the form of all of them.
Error mistake(const Position& position, const std::string& what, const Remedy& remedy);

/// The mistakes found so far. They are bounded, so that a wrong file cannot fill a log: the first
/// 100 are kept, and one more says that there are others.
class Mistakes {
 public:
  static constexpr std::size_t kMost = 100;

  void add(const Position& at, const std::string& what, const Remedy& remedy);
  /// In the order of the file, whatever order it was read in.
  std::vector<Error> all() &&;

 private:
  struct Found {
    Position at;
    Error error;
  };
  std::vector<Found> list_;
  std::size_t more_ = 0;
};

}  // namespace pex::yaml
