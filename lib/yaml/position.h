#pragma once

#include <string>

namespace pex::yaml {

/// A position in the configuration; lines and columns count from 1, columns in bytes.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
  std::string key;  ///< path of the key, for example "groups[2].events[0]"

  bool operator==(const Position&) const = default;
};

}  // namespace pex::yaml
