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
/// describe() without its remedy, which has its own line.
std::string without_remedy(const Error& error);

}  // namespace pex::daemon
