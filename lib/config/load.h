#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "yaml/diagnostic.h"
#include "yaml/reference.h"

namespace pex::config {

/// A configuration with all errors of its form: usable only if there are none. With errors it still
/// contains everything that could be read, so that the rest can be checked as well.
struct Loaded {
  Config config;
  yaml::Diagnostics diagnostics;
};

/// What becomes of keys and words that this version does not know.
enum class UnknownKeys {
  kError,
  kWarnIfNewer,  ///< they are ignored with a warning, if the file requires a newer version
  kWarn,         ///< they are ignored with a warning
};

/// Reads and checks one file. Fails if it cannot be read.
Result<Loaded> load_file(const std::string& path, UnknownKeys unknown = UnknownKeys::kError);

/// The same for a text in memory; `name` is the file's name in messages.
Loaded load_text(std::string_view text, const std::string& name,
                 UnknownKeys unknown = UnknownKeys::kError);

/// Every key that a configuration may have, from the tables that parse it. The keys of a map follow
/// its own key.
std::vector<yaml::KeyReference> configuration_keys();

}  // namespace pex::config
