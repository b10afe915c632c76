#include "yaml/diagnostic.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace pex::yaml {
namespace {

/// "file:line:column: path.to.key: ", without unknown parts.
std::string prefix_of(const Position& position) {
  std::string prefix;
  if (!position.file.empty()) prefix += position.file + ":";
  if (position.line > 0) prefix += fmt::format("{}:{}:", position.line, position.column);
  if (!position.key.empty()) prefix += fmt::format(" {}:", position.key);
  return prefix.empty() ? prefix : prefix + " ";
}

bool is_before(const Diagnostic& one, const Diagnostic& other) {
  const auto rank = [](const Position& at) { return std::tuple(at.line == 0, at.line, at.column); };
  return rank(one.position) < rank(other.position);
}

}  // namespace

Diagnostic diagnostic_of(const Error& error, Severity severity) {
  return {{}, error.attempted, error.remedy, severity, error.code};
}

Diagnostic warning(std::string message, Remedy remedy) {
  return {{}, std::move(message), std::move(remedy), Severity::kWarning};
}

Error error_of(const Diagnostic& diagnostic) {
  return {diagnostic.code, prefix_of(diagnostic.position) + diagnostic.message, diagnostic.remedy};
}

std::vector<Error> errors_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Error> errors;
  std::transform(diagnostics.begin(), diagnostics.end(), std::back_inserter(errors), error_of);
  return errors;
}

std::string describe(const Diagnostic& diagnostic, ProgramWords words) {
  return pex::describe(error_of(diagnostic), words);
}

void Diagnostics::add(Diagnostic diagnostic) {
  List& list = diagnostic.severity == Severity::kError ? errors_ : warnings_;
  if (list.kept.size() < kMax) {
    list.kept.push_back(std::move(diagnostic));
  } else {
    ++list.others;
  }
}

void Diagnostics::add_unknown(Diagnostic diagnostic) {
  if (ignores_unknown_) {
    ++ignored_;
    diagnostic.message += ": ignored";
    diagnostic.remedy = {};
    diagnostic.severity = Severity::kWarning;
  }
  add(std::move(diagnostic));
}

void Diagnostics::revise(const std::function<void(Diagnostic&)>& change) {
  for (Diagnostic& error : errors_.kept) change(error);
}

void Diagnostics::add_all(std::vector<Diagnostic> diagnostics) {
  for (Diagnostic& each : diagnostics) add(std::move(each));
}

std::vector<Diagnostic> Diagnostics::in_file_order(const List& list, const char* noun) {
  std::vector<Diagnostic> sorted = list.kept;
  std::stable_sort(sorted.begin(), sorted.end(), is_before);
  if (list.others > 0) {
    const Diagnostic& first = sorted.front();
    sorted.push_back({.position = {first.position.file, 0, 0, {}},
                      .message = fmt::format("and {} more {}", list.others, noun),
                      .remedy = "correct those above first",
                      .severity = first.severity});
  }
  return sorted;
}

}  // namespace pex::yaml
