#include <cstring>

#include "base/result.h"

namespace pex {

std::string errno_name(int code) {
  const char* name = ::strerrorname_np(code);
  return name != nullptr ? name : "errno " + std::to_string(code);
}

std::string describe(const Error& error, ProgramWords words) {
  std::string line = error.attempted;
  if (error.code != 0) {
    const char* text = ::strerrordesc_np(error.code);
    if (!line.empty()) line += ": ";
    line +=
        std::string(text != nullptr ? text : "Unknown error") + " (" + errno_name(error.code) + ")";
  }
  if (!error.remedy.empty()) line += ". Remedy: " + error.remedy.text(words);
  return line;
}

}  // namespace pex
