#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pex {

/// What only the program that uses this library can name: its flags, commands and service.
enum class ProgramTerm {
  kSysfs,            ///< where sysfs is mounted (HostRoots)
  kProcfs,           ///< where procfs is mounted
  kCgroupfs,         ///< where the cgroup file system is mounted
  kConfigFile,       ///< the configuration file
  kWebConfigFile,    ///< the web configuration file
  kListenAddress,    ///< the listen address
  kSocketDirectory,  ///< a directory for the socket files of the program
  kOpenFileLimit,    ///< the limit of its open files
  kTaskLimit,        ///< the limit of its threads
  kEventList,        ///< a list of the events of this machine
  kTracepointList,   ///< the same, of tracepoints
  kDoctor,           ///< the diagnosis of why something is not counted
  kProgram,          ///< the program itself
  kService,          ///< the program, as the holder of privileges
  kAdminRegained,    ///< how to restore a dropped CAP_SYS_ADMIN; a clause, or empty
};

/// The words of a program for its terms.
using ProgramWords = std::string_view (*)(ProgramTerm);

/// The default for programs without their own words.
std::string_view library_words(ProgramTerm term);

/// What an operator can change, in one sentence without its full stop. A text with terms that the
/// program words: "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n".
class Remedy {
 public:
  Remedy() = default;
  Remedy(std::string text) { append(std::move(text)); }
  Remedy(std::string_view text) : Remedy(std::string(text)) {}
  Remedy(const char* text) : Remedy(std::string(text)) {}
  Remedy(ProgramTerm term) : pieces_{term} {}

  /// Nothing to advise.
  bool empty() const { return pieces_.empty(); }
  std::string text(ProgramWords words = library_words) const;

  Remedy& operator+=(const Remedy& more);
  friend Remedy operator+(Remedy left, const Remedy& right) { return std::move(left += right); }

  bool operator==(const Remedy&) const = default;

 private:
  using Piece = std::variant<std::string, ProgramTerm>;

  /// Adjacent texts are merged, so that equal remedies have equal pieces.
  void append(std::string text);

  std::vector<Piece> pieces_;
};

/// "raise " + ProgramTerm::kOpenFileLimit
inline Remedy operator+(Remedy left, ProgramTerm right) { return std::move(left += right); }

}  // namespace pex
