#pragma once

#include <prometheus/client_metric.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/boot_clock.h"
#include "count/snapshot.h"
#include "exposition/family.h"
#include "exposition/number.h"
#include "exposition/row_labels.h"

namespace pex::exposition {

enum class Format : std::uint8_t {
  kText,         ///< 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats)
  kOpenMetrics,  ///< 1.0 (prometheus.io/docs/specs/om/open_metrics_spec)
};

/// The media type.
std::string_view content_type(Format format);

/// Where the samples of consecutive rows are in a text, from `at` on. The one of a row, if there is
/// one, is in front of ends[row], counted from there.
struct SamplePlaces {
  std::size_t at = 0;
  std::vector<std::uint32_t> ends;
};

/// Writes families one after the other. A head is written with its first sample: a family without
/// samples is not written.
class FormatWriter {
 public:
  using Clock = BootClock;

  /// Overwrites `text`, whose memory is reused without being cleared. `created`: OpenMetrics also
  /// has the start time of counters.
  FormatWriter(Format format, bool created, std::string& text);

  /// `head` outlives its samples.
  void begin(const FamilyHead& head);
  /// A sample for each row that has a number; labels are `before`, those of the row and `behind`,
  /// escaped; each may be empty. Counting began at Rows::since(), or at `since` if that was later.
  void write(std::string_view before, const Rows& rows, std::string_view behind,
             std::span<const Number> numbers, Clock::time_point since = {});
  /// The same, and notes in `places` where the samples are.
  void write(std::string_view before, const Rows& rows, std::string_view behind,
             std::span<const Number> numbers, Clock::time_point since, SamplePlaces& places);
  /// The same if only the `changed` rows, which are rising, are other than in `earlier`, a text of
  /// this format. `places` are those there, and become those here. All other numbers are not read.
  void rewrite(std::string_view before, const Rows& rows, std::string_view behind,
               std::span<const Number> numbers, Clock::time_point since, std::string_view earlier,
               std::span<const collect::RowRange> changed, SamplePlaces& places);
  void write(std::string_view labels, Number number, Clock::time_point since);
  /// The samples of a histogram without labels.
  void write(const prometheus::ClientMetric::Histogram& histogram, Clock::time_point since);
  /// Ends the text.
  void finish();

 private:
  /// If counters have their start time: the date that it is counted from.
  std::optional<std::chrono::system_clock::time_point> boot_for_created() const;
  void begin_samples(std::size_t bytes);
  void write_head();
  void reserve(std::size_t bytes);
  void write_help(std::string_view family);
  void append_line(std::initializer_list<std::string_view> pieces);

  std::string& text_;
  std::size_t used_ = 0;  ///< of text_; the rest is overwritten later
  Format format_;
  bool created_;
  const FamilyHead* head_ = nullptr;
  bool is_headed_ = false;
};

}  // namespace pex::exposition
