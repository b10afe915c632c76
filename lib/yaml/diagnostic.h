#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "yaml/position.h"

namespace pex::yaml {

enum class Severity {
  kError,    ///< the configuration cannot be used
  kWarning,  ///< it is used, but a part of it has no effect or another one than requested
};

/// A fault of a configuration. An Error is a system call that failed; it becomes a diagnostic if a
/// configuration caused it.
struct Diagnostic {
  Position position = {};  ///< without a file: not about a place in it
  std::string message;
  Remedy remedy = {};  ///< empty when there is nothing to advise
  Severity severity = Severity::kError;
  int code = 0;  ///< errno of the failed system call, or 0

  bool operator==(const Diagnostic&) const = default;
};

// Not about a place in a file:
Diagnostic diagnostic_of(const Error& error, Severity severity = Severity::kError);
Diagnostic warning(std::string message, Remedy remedy);

/// With "file:line:column: path.to.key: message" in `attempted`.
Error error_of(const Diagnostic& diagnostic);
std::vector<Error> errors_of(const std::vector<Diagnostic>& diagnostics);

/// One line: describe() of that error.
std::string describe(const Diagnostic& diagnostic, ProgramWords words = library_words);

/// Collects the diagnostics of one file. Keeps the first 100 errors and warnings each, so that a
/// wrong file cannot flood a log, and adds one with the number of the others.
class Diagnostics {
 public:
  static constexpr std::size_t kMax = 100;

  void add(Diagnostic diagnostic);
  void add_all(std::vector<Diagnostic> diagnostics);

  /// From now on, what is unknown is ignored, with a warning.
  void ignore_unknown() { ignores_unknown_ = true; }
  bool ignores_unknown() const { return ignores_unknown_; }
  /// For a key, or a word as a value, that is not known: an error, unless such are ignored.
  void add_unknown(Diagnostic diagnostic);
  std::size_t ignored_count() const { return ignored_; }

  /// `before` is an earlier state of this: what was added to it since are warnings only.
  void drop_errors_since(const Diagnostics& before) { errors_ = before.errors_; }

  /// Calls `change` for each error that is kept.
  void revise(const std::function<void(Diagnostic&)>& change);

  bool has_errors() const { return error_count() > 0; }
  std::size_t error_count() const { return errors_.kept.size() + errors_.others; }
  /// In the order of the file, independent of the order of reading; those without a place come
  /// last.
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
  bool ignores_unknown_ = false;
  std::size_t ignored_ = 0;
};

}  // namespace pex::yaml
