#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "base/remedy.h"

namespace pex {

/// Why an operation failed, in the three parts an operator needs. Errors in a configuration are a
/// yaml::Diagnostic.
struct Error {
  int code = 0;           ///< errno, or 0 if no system call failed
  std::string attempted;  ///< what failed and on what, for example "open cgroup directory '/x'"
  Remedy remedy;          ///< what to change; empty when there is nothing to advise
  /// Why, where that is known better than by the kernel's words for the code; without its full
  /// stop.
  std::string cause = {};

  bool operator==(const Error&) const = default;
};

/// One line: "attempted: cause (EACCES). Remedy: remedy." Without a cause, it has the kernel's
/// words: "Permission denied". Empty and zero parts are left out. `words` are the program's words
/// for its terms.
std::string describe(const Error& error, ProgramWords words = library_words);

/// ENOTSUPP: a number of the kernel's own that <errno.h> does not have, and that some system calls
/// return all the same. Not ENOTSUP, which is EOPNOTSUPP.
inline constexpr int kErrnoNotSupported = 524;

/// "EACCES"; "errno 4095" for a number without a name.
std::string errno_name(int code);
/// "Permission denied"; "Unknown error" for a number without a name.
std::string errno_words(int code);

/// Whether the process or the machine was out of file descriptors or memory (EMFILE, ENFILE,
/// ENOMEM): the same call may succeed later, and says nothing of what it was to find.
bool is_shortage(int code);

/// A value or an error. The calls are those of C++23's std::expected, which may replace this class.
/// E is another type than Error only where a caller needs more than text. Accessing the one that it
/// does not hold is a bug, and asserts.
template <typename T = void, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}
  /// A value that is made where it stays, for a T that costs something to move.
  explicit Result(std::in_place_t) : state_(std::in_place_index<0>) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  bool has_value() const noexcept { return state_.index() == 0; }

  T& operator*() & { return *value(); }
  const T& operator*() const& { return *value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  E& error() {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  const E& error() const {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  T* value() {
    assert(has_value());
    return std::get_if<0>(&state_);
  }
  const T* value() const {
    assert(has_value());
    return std::get_if<0>(&state_);
  }

  std::variant<T, E> state_;
};

/// Success or an error.
template <typename E>
class [[nodiscard]] Result<void, E> : Result<std::monostate, E> {
  using Base = Result<std::monostate, E>;

 public:
  Result() : Base(std::monostate{}) {}
  Result(E why) : Base(std::move(why)) {}

  using Base::error;
  using Base::has_value;
  using Base::operator bool;
};

}  // namespace pex
