#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "yaml/position.h"

namespace pex::yaml {

enum class Severity {
  kError,    ///< the configuration cannot be used
  kWarning,  ///< it is used, and a part of it has no effect or not the one that was asked for
};

/// What is wrong with a configuration. An Error is a system call that failed; it becomes a
/// diagnostic where a configuration asked for it.
struct Diagnostic {
  Position position = {};  ///< without a file: about no place in one
  std::string message;
  Remedy remedy = {};  ///< empty when there is nothing to advise
  Severity severity = Severity::kError;
  int code = 0;  ///< errno of the system call that failed, or 0

  bool operator==(const Diagnostic&) const = default;
};

// About no place in a file:
Diagnostic diagnostic_of(const Error& error, Severity severity = Severity::kError);
Diagnostic warning(std::string message, Remedy remedy);

/// With "file:line:column: path.to.key: message" as what was attempted.
Error error_of(const Diagnostic& diagnostic);
std::vector<Error> errors_of(const std::vector<Diagnostic>& diagnostics);

/// One line: that error, described.
std::string describe(const Diagnostic& diagnostic, ProgramWords words = library_words);

/// Collects what is found in one file. Of errors and of warnings the first 100 are kept, so that a
/// wrong file cannot fill a log, and one more reports how many others there are.
class Diagnostics {
 public:
  static constexpr std::size_t kMax = 100;

  void add(Diagnostic diagnostic);
  void add_all(std::vector<Diagnostic> diagnostics);

  bool has_errors() const { return error_count() > 0; }
  std::size_t error_count() const { return errors_.kept.size() + errors_.others; }
  /// In the order of the file, whatever order it was read in; what is about no place comes last.
  std::vector<Diagnostic> errors() const { return in_file_order(errors_, "errors"); }
  std::vector<Diagnostic> warnings() const { return in_file_order(warnings_, "warnings"); }

 private:
  struct List {
    std::vector<Diagnostic> kept;
    std::size_t others = 0;
  };
  static std::vector<Diagnostic> in_file_order(const List& list, const char* noun);

  List errors_;
  List warnings_;
};

}  // namespace pex::yaml
