#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "yaml/reference.h"

namespace pex::config {

/// A configuration, and everything that is wrong with it: usable only when there are no mistakes.
/// Each mistake reads `file:line:column: path.to.key: what is wrong` with its remedy, on one line.
/// They come in the order of the file; beyond the first 100 only their number is told.
struct Loaded {
  Config config;
  std::vector<Error> mistakes;
};

/// Reads and checks one file. A file that cannot be read is one mistake, which names it.
Loaded load_file(const std::string& path);

/// The same for text that is already here; `name` stands for the file in messages.
Loaded load_text(std::string_view text, const std::string& name);

/// Every key that a configuration may have, from the tables that it is read by. The keys of a map
/// follow the one that it stands behind.
std::vector<yaml::KeyReference> configuration_keys();

}  // namespace pex::config
