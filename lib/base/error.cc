#include <cerrno>
#include <cstring>

#include "base/lookup.h"
#include "base/result.h"

namespace pex {
namespace {

/// What the C library has no name for (include/linux/errno.h).
struct KernelErrno {
  int code;
  const char* name;
  const char* words;
};
constexpr KernelErrno kKernelErrnos[] = {
    {kErrnoNotSupported, "ENOTSUPP", "Operation is not supported"},
};

}  // namespace

std::string errno_name(int code) {
  if (const char* name = ::strerrorname_np(code)) return name;
  const KernelErrno* known = lookup(kKernelErrnos, &KernelErrno::code, code);
  return known != nullptr ? known->name : "errno " + std::to_string(code);
}

std::string errno_words(int code) {
  if (const char* words = ::strerrordesc_np(code)) return words;
  const KernelErrno* known = lookup(kKernelErrnos, &KernelErrno::code, code);
  return known != nullptr ? known->words : "Unknown error";
}

bool is_shortage(int code) { return code == EMFILE || code == ENFILE || code == ENOMEM; }

std::string describe(const Error& error, ProgramWords words) {
  std::string line = error.attempted;
  if (error.code != 0) {
    if (!line.empty()) line += ": ";
    line += (error.cause.empty() ? errno_words(error.code) : error.cause) + " (" +
            errno_name(error.code) + ")";
  }
  if (!error.remedy.empty()) line += ". Remedy: " + error.remedy.text(words);
  return line;
}

}  // namespace pex
