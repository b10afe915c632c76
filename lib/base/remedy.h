#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pex {

/// What only the program that uses this library can name: its flags, its commands, how it is run.
enum class ProgramTerm {
  kSysfs,            ///< where sysfs is mounted (HostRoots)
  kProcfs,           ///< where procfs is mounted
  kCgroupfs,         ///< where the cgroup file system is mounted
  kConfigFile,       ///< which configuration is read
  kWebConfigFile,    ///< which web configuration is read
  kListenAddress,    ///< where it listens
  kSocketDirectory,  ///< a directory for the socket files of the program
  kOpenFileLimit,    ///< how many files it may have open
  kTaskLimit,        ///< how many threads it may have
  kEventList,        ///< a list of what can be counted on this machine
  kTracepointList,   ///< the same, of tracepoints
  kDoctor,           ///< what finds out why something is not counted
  kProgram,          ///< the program itself
  kService,          ///< the program, as the one that rights are granted to
  kAdminRegained,    ///< how it gets CAP_SYS_ADMIN back that it gave up; a clause, or empty
};

/// The words of a program for its terms.
using ProgramWords = std::string_view (*)(ProgramTerm);

/// Words for programs that have none of their own.
std::string_view library_words(ProgramTerm term);

/// What an operator can change, in one sentence without its full stop. Text with terms in it that
/// the program words: "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n".
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

  /// Of two texts in a row one is made, so that equal remedies have equal pieces.
  void append(std::string text);

  std::vector<Piece> pieces_;
};

/// "raise " + ProgramTerm::kOpenFileLimit
inline Remedy operator+(Remedy left, ProgramTerm right) { return std::move(left += right); }

}  // namespace pex
