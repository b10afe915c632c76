#pragma once

#include <string>
#include <string_view>

#include "base/remedy.h"
#include "base/result.h"

namespace pex::daemon {

/// This program's words for what the library cannot name: flags, commands, unit.
std::string_view program_words(ProgramTerm term);

/// describe() in the words of this program.
std::string worded(const Error& error);
std::string worded(const Remedy& remedy);

}  // namespace pex::daemon
