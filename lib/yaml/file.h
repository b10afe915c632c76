#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "yaml/diagnostic.h"
#include "yaml/tree.h"

namespace pex::yaml {

/// The maximum size of a file.
inline constexpr std::size_t kMaxFileBytes = 1024 * 1024;

/// A kind of file, in messages.
struct FileKind {
  std::string_view noun;  ///< "configuration"
  ProgramTerm option;     ///< that sets the file
};

/// Reads the whole file. Fails if it cannot be read.
Result<std::string> read_file(const std::string& path, const FileKind& kind);

/// The tree of `text`, which may have a byte order mark; `name` is the file's name in messages. No
/// node after an error: more than kMaxFileBytes, not plain text, or not YAML.
std::optional<Node> read_tree(std::string_view text, const std::string& name, const FileKind& kind,
                              Diagnostics& diagnostics);

}  // namespace pex::yaml
