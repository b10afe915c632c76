#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "yaml/diagnostic.h"
#include "yaml/tree.h"

namespace pex::yaml {

/// At most this much YAML is read.
inline constexpr std::size_t kMaxFileBytes = 1024 * 1024;

/// A kind of file, as messages have it.
struct FileKind {
  std::string_view noun;  ///< "configuration"
  ProgramTerm option;     ///< by which one is named
};

/// The whole file. Fails with what stands in the way of reading it.
Result<std::string> read_file(const std::string& path, const FileKind& kind);

/// The tree of `text`, which may have a byte order mark; `name` stands for the file in messages.
/// No node after an error: more than kMaxFileBytes, no plain text, or no YAML.
std::optional<Node> read_tree(std::string_view text, const std::string& name, const FileKind& kind,
                              Diagnostics& diagnostics);

}  // namespace pex::yaml
