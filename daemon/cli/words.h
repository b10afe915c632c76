#pragma once

#include <string>
#include <string_view>

#include "base/remedy.h"
#include "base/result.h"

namespace pex::daemon {

/// How this program calls what the library cannot name: its flags, its commands, its unit.
std::string_view program_words(ProgramTerm term);

/// describe() in the words of this program.
std::string worded(const Error& error);
std::string worded(const Remedy& remedy);

}  // namespace pex::daemon
