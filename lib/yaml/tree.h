#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/diagnostic.h"
#include "yaml/plain_text.h"

namespace pex::yaml {

/// One YAML value as it was written: nothing is converted, merged or left out, so duplicate keys
/// are both included and 010 is the text "010".
struct Node {
  enum class Kind {
    kNothing,  ///< `key:` with no value, or an explicit null
    kText,
    kList,
    kMap,
    kAlias,  ///< `*name`; never followed, so that no file can grow by repeating itself
  };
  Kind kind = Kind::kNothing;
  Place place;                      ///< for a missing value the place of its key or its dash
  std::string text = {};            ///< of kText
  bool plain = true;                ///< kText only: written without quotes
  bool several_lines = false;       ///< kText only: not one line, nor folded as programs fold one
  std::string tag = {};             ///< `!name` in front of the value; almost always empty
  std::vector<Node> children = {};  ///< items of a list; key, value, key, value, ... of a map
};

/// Lists and maps may be nested this deep; the configuration itself needs 4.
inline constexpr std::size_t kMaxDepth = 16;

/// The one document in `text`, which is UTF-8 without a byte order mark; an empty text is a
/// kNothing node. No node if it is not YAML. yaml-cpp and its exceptions are hidden behind this
/// call.
std::optional<Node> parse_yaml(std::string_view text, const std::string& file,
                               Diagnostics& diagnostics);

}  // namespace pex::yaml
