#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "yaml/diagnostic.h"
#include "yaml/reference.h"

namespace pex::config {

/// A configuration, and everything that is wrong with its form: usable only without errors. With
/// errors it still holds all that could be read, so that the rest can be checked as well.
struct Loaded {
  Config config;
  yaml::Diagnostics diagnostics;
};

/// Reads and checks one file. Fails when it cannot be read.
Result<Loaded> load_file(const std::string& path);

/// The same for text that is already here; `name` stands for the file in messages.
Loaded load_text(std::string_view text, const std::string& name);

/// Every key that a configuration may have, from the tables that it is read by. The keys of a map
/// follow the one that it stands behind.
std::vector<yaml::KeyReference> configuration_keys();

}  // namespace pex::config
