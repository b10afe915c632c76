#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "exposition/family.h"
#include "exposition/number.h"
#include "exposition/row_labels.h"

namespace pex::exposition {

enum class Format : std::uint8_t {
  kText,         ///< 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats)
  kOpenMetrics,  ///< 1.0 (prometheus.io/docs/specs/om/open_metrics_spec)
};

/// What HTTP calls it.
std::string_view content_type(Format format);

/// Writes families one after the other. Their heads come with their first samples: a family without
/// one is not written.
class FormatWriter {
 public:
  using Clock = std::chrono::system_clock;

  /// Writes over what `text` holds, whose memory is used again: bytes are put to their places
  /// without being cleared first. `created`: OpenMetrics also tells since when counters count.
  FormatWriter(Format format, bool created, std::string& text);

  /// `head` outlives its samples.
  void begin(const FamilyHead& head);
  /// A sample for each row that has a number; labels are `before`, those of the row and `behind`,
  /// escaped, each of which may be empty.
  void write(std::string_view before, const Rows& rows, std::string_view behind,
             std::span<const Number> numbers);
  void write(std::string_view labels, Number number, Clock::time_point since);
  /// Ends the text.
  void finish();

 private:
  void write_head();
  void reserve(std::size_t bytes);
  void write_help(std::string_view family);
  void append_line(std::initializer_list<std::string_view> pieces);
  bool tells_creation() const;

  std::string& text_;
  std::size_t used_ = 0;  ///< of text_; what is behind is to be overwritten
  Format format_;
  bool created_;
  const FamilyHead* head_ = nullptr;
  bool is_headed_ = false;
};

}  // namespace pex::exposition
