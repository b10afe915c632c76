#pragma once

#include <string>
#include <vector>

#include "fuzz/fuzzing.h"
#include "yaml/diagnostic.h"

namespace pex::fuzz {

/// Each of them is one line that starts with the name of the file, not too long, and has a remedy.
inline void require_that_they_point(const std::vector<yaml::Diagnostic>& errors,
                                    const std::string& name) {
  for (const yaml::Diagnostic& error : errors) {
    const std::string line = describe(error);
    require(line.starts_with(name + ":"));
    require(is_one_line(line));
    require(line.size() < 1000);
    require(!error.remedy.empty());
  }
}

}  // namespace pex::fuzz
