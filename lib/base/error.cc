#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace pex {
namespace {

std::string words_of_kernel(int code) {
  const char* words = ::strerrordesc_np(code);
  return words != nullptr ? words : "Unknown error";
}

}  // namespace

std::string errno_name(int code) {
  const char* name = ::strerrorname_np(code);
  return name != nullptr ? name : "errno " + std::to_string(code);
}

bool is_shortage(int code) { return code == EMFILE || code == ENFILE || code == ENOMEM; }

std::string describe(const Error& error, ProgramWords words) {
  std::string line = error.attempted;
  if (error.code != 0) {
    if (!line.empty()) line += ": ";
    line += (error.cause.empty() ? words_of_kernel(error.code) : error.cause) + " (" +
            errno_name(error.code) + ")";
  }
  if (!error.remedy.empty()) line += ". Remedy: " + error.remedy.text(words);
  return line;
}

}  // namespace pex
