#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pex::exposition {

// Pieces of the Prometheus text format 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats). All append to `text`.

/// 1500000000 ns as "1.5", with up to nine decimals: through integers, as a double holds
/// nanoseconds exactly for 104 days only.
void append_seconds(std::string& text, std::uint64_t nanoseconds);

/// The shortest digits that are read as the same number; "+Inf".
void append_double(std::string& text, double value);

/// `count` times `scale`, the unit that is counted in the unit of the family. Exact where that can
/// be: clocks, and units of whole numbers.
void append_value(std::string& text, std::uint64_t count, double scale);

/// A family that is headed once its first sample comes, as one without samples is not written.
class LateFamily {
 public:
  /// `help` is escaped, as are labels below. What it is given outlives it.
  LateFamily(std::string& text, std::string_view name, std::string_view help,
             std::string_view type = "counter")
      : text_(text), name_(name), help_(help), type_(type) {}

  /// A sample up to its value, which is to be appended with the end of the line. Either labels may
  /// be empty.
  std::string& start(std::string_view first, std::string_view second);

 private:
  void append_header();

  std::string& text_;
  std::string_view name_;
  std::string_view help_;
  std::string_view type_;
  bool headed_ = false;
};

}  // namespace pex::exposition
