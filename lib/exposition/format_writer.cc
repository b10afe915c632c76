#include "exposition/format_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/boot_clock.h"
#include "exposition/labels.h"

namespace pex::exposition {
namespace {

/// In the order of FamilyType.
struct TypeNames {
  std::string_view text;
  std::string_view openmetrics;
};
constexpr std::array<TypeNames, 4> kTypes = {
    {{"counter", "counter"}, {"gauge", "gauge"}, {"gauge", "info"}, {"histogram", "histogram"}}};

std::string_view type_name(FamilyType type, Format format) {
  const TypeNames& names = kTypes[static_cast<std::size_t>(type)];
  return format == Format::kText ? names.text : names.openmetrics;
}

constexpr std::size_t kPadding = 64;

/// Writes without bounds checks: the room was made before.
class Pen {
 public:
  explicit Pen(char* at) : at_(at) {}
  void put(std::string_view piece) {
    std::memcpy(at_, piece.data(), piece.size());
    at_ += piece.size();
  }
  void put(char letter) { *at_++ = letter; }
  /// Requires kPadding readable bytes after the piece: nearly all pieces are short, and copying a
  /// fixed number of bytes is inlined.
  void put_padded(std::string_view piece) {
    std::memcpy(at_, piece.data(), kPadding);
    if (piece.size() > kPadding) std::memcpy(at_, piece.data(), piece.size());
    at_ += piece.size();
  }
  void put(Number number) { at_ = exposition::write(at_, number); }
  char* at() const { return at_; }

 private:
  char* at_;
};

/// What is written of each row with one name: the text before and after the labels of the rows is
/// the same for all of them.
class Lines {
 public:
  Lines(std::string_view name, std::string_view before, const Rows& rows, std::string_view behind)
      : rows_(rows) {
    const bool has_labels = rows.are_named() || !before.empty() || !behind.empty();
    (front_ += name) += has_labels ? "{" : " ";
    front_ += before;
    if (!before.empty() && rows.are_named()) front_ += ',';
    if (!behind.empty() && (rows.are_named() || !before.empty())) back_ += ',';
    (back_ += behind) += has_labels ? Rows::kClosing : "";
    closes_with_row_ = back_ == Rows::kClosing;
    front_bytes_ = front_.size();
    front_.append(kPadding, ' ');
  }

  std::size_t bytes() const {
    return rows_.size() * (front_bytes_ + back_.size() + kNumberBytes + 1) + rows_.bytes() +
           kPadding;
  }

  void put(Pen& pen, std::size_t row, Number number) const {
    pen.put_padded({front_.data(), front_bytes_});
    if (closes_with_row_) {  // nearly all: one copy less
      pen.put(rows_.closed_labels(row));
    } else {
      pen.put(rows_.labels(row));
      pen.put(back_);
    }
    pen.put(number);
    pen.put('\n');
  }

 private:
  const Rows& rows_;
  std::string front_;  ///< padded
  std::size_t front_bytes_ = 0;
  std::string back_;
  bool closes_with_row_;
};

std::string created_name(const FamilyHead& head) {
  return std::string(family_of(head)) + "_created";
}

using Date = std::chrono::system_clock::time_point;

/// Both formats have time stamps in seconds.
Number instant(Date time) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  return nanoseconds(static_cast<std::uint64_t>(std::chrono::nanoseconds(since_epoch).count()));
}

/// The samples of a run of rows.
class Samples {
 public:
  using Clock = FormatWriter::Clock;

  /// With the start time of each row where the date of boot is given.
  Samples(const FamilyHead& head, std::optional<Date> boot, std::string_view before,
          const Rows& rows, std::string_view behind, Clock::time_point since)
      : rows_(rows),
        since_(since),
        boot_(boot),
        values_(head.name, before, rows, behind),
        creations_(created_name(head), before, rows, behind) {}

  std::size_t bytes() const { return values_.bytes() + (boot_ ? creations_.bytes() : 0); }

  void put(Pen& pen, std::size_t row, Number number) const {
    if (!number) return;
    values_.put(pen, row, number);
    if (!boot_) return;
    const Clock::time_point began = std::max(rows_.since(row), since_);
    creations_.put(pen, row, instant(*boot_ + began.time_since_epoch()));
  }

 private:
  const Rows& rows_;
  Clock::time_point since_;
  std::optional<Date> boot_;
  Lines values_;
  Lines creations_;
};

std::string bound_text(double bound) {
  if (std::isinf(bound)) return "+Inf";
  char text[kNumberBytes];
  std::string number(text, exposition::write(text, real(bound)));
  if (number.find_first_of(".e") == number.npos) number += ".0";
  return number;
}

}  // namespace

std::string_view content_type(Format format) {
  return format == Format::kText ? "text/plain; version=0.0.4; charset=utf-8"
                                 : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

FormatWriter::FormatWriter(Format format, bool created, std::string& text)
    : text_(text), format_(format), created_(created) {}

void FormatWriter::begin(const FamilyHead& head) {
  head_ = &head;
  is_headed_ = false;
}

std::optional<std::chrono::system_clock::time_point> FormatWriter::boot_for_created() const {
  const bool writes = created_ && format_ == Format::kOpenMetrics;
  return writes && head_->type == FamilyType::kCounter ? std::optional(boot_date()) : std::nullopt;
}

void FormatWriter::begin_samples(std::size_t bytes) {
  if (!std::exchange(is_headed_, true)) write_head();
  reserve(bytes);
}

void FormatWriter::write(std::string_view before, const Rows& rows, std::string_view behind,
                         std::span<const Number> numbers, Clock::time_point since) {
  const bool has_some = std::any_of(numbers.begin(), numbers.end(),
                                    [](const Number& each) { return static_cast<bool>(each); });
  if (!has_some) return;
  const Samples samples{*head_, boot_for_created(), before, rows, behind, since};
  begin_samples(samples.bytes());
  Pen pen{text_.data() + used_};
  for (std::size_t row = 0; row < numbers.size(); ++row) samples.put(pen, row, numbers[row]);
  used_ = static_cast<std::size_t>(pen.at() - text_.data());
}

void FormatWriter::write(std::string_view before, const Rows& rows, std::string_view behind,
                         std::span<const Number> numbers, Clock::time_point since,
                         SamplePlaces& places) {
  places.ends.assign(rows.size(), 0);
  places.at = 0;
  const collect::RowRange all{0, numbers.size()};
  rewrite(before, rows, behind, numbers, since, {}, {&all, all.end > 0 ? 1U : 0U}, places);
}

void FormatWriter::rewrite(std::string_view before, const Rows& rows, std::string_view behind,
                           std::span<const Number> numbers, Clock::time_point since,
                           std::string_view earlier, std::span<const collect::RowRange> changed,
                           SamplePlaces& places) {
  const Samples samples{*head_, boot_for_created(), before, rows, behind, since};
  const std::size_t used_before = used_;
  const bool was_headed = is_headed_;
  begin_samples(samples.bytes());
  Pen pen{text_.data() + used_};
  const char* const start = pen.at();
  const auto written = [&] { return static_cast<std::uint32_t>(pen.at() - start); };
  const std::string_view from = earlier.substr(std::exchange(places.at, used_));
  std::vector<std::uint32_t>& ends = places.ends;
  std::size_t row = 0;         // the next one
  std::uint32_t row_from = 0;  // where it is in `from`
  const auto keep_until = [&](std::size_t end) {
    if (row == end) return;
    const std::uint32_t moved = written() - row_from;  // may wrap
    const std::uint32_t end_from = ends[end - 1];
    pen.put(from.substr(row_from, end_from - row_from));
    for (; row < end; ++row) ends[row] += moved;
    row_from = end_from;
  };
  for (const collect::RowRange& range : changed) {
    keep_until(range.first);
    row_from = ends[range.end - 1];
    for (; row < range.end; ++row) {
      samples.put(pen, row, numbers[row]);
      ends[row] = written();
    }
  }
  keep_until(ends.size());
  used_ += written();
  if (written() > 0) return;
  used_ = used_before;  // without the head
  is_headed_ = was_headed;
  places.at = 0;
}

void FormatWriter::write(std::string_view labels, Number number, Clock::time_point since) {
  Rows row;
  row.add(labels, since);
  write("", row, "", {&number, 1});
}

/// Its bounds are written as OpenMetrics has them, in both formats: they are the same series.
void FormatWriter::write(const prometheus::ClientMetric::Histogram& histogram,
                         Clock::time_point since) {
  if (!std::exchange(is_headed_, true)) write_head();
  const auto sample = [&](std::string_view suffix, std::string_view labels, Number number) {
    char text[kNumberBytes];
    const char* const end = exposition::write(text, number);
    append_line({head_->name, suffix, labels, " ", {text, static_cast<std::size_t>(end - text)}});
  };
  for (const auto& bucket : histogram.bucket) {
    sample("_bucket", "{" + label("le", bound_text(bucket.upper_bound)) + "}",
           whole(bucket.cumulative_count));
  }
  sample("_sum", "", real(histogram.sample_sum));
  sample("_count", "", whole(histogram.sample_count));
  if (created_ && format_ == Format::kOpenMetrics) sample("_created", "", instant(date_of(since)));
}

void FormatWriter::finish() {
  if (format_ == Format::kOpenMetrics) append_line({"# EOF"});
  text_.resize(used_);
}

/// OpenMetrics requires the order TYPE, UNIT, HELP; the text format has no UNIT, and by custom HELP
/// comes first.
void FormatWriter::write_head() {
  const std::string_view type = type_name(head_->type, format_);
  if (format_ == Format::kText) {
    write_help(head_->name);
    append_line({"# TYPE ", head_->name, " ", type});
    return;
  }
  const std::string_view family = family_of(*head_);
  const std::string_view unit = unit_of(family);
  append_line({"# TYPE ", family, " ", type});
  if (!unit.empty()) append_line({"# UNIT ", family, " ", unit});
  write_help(family);
}

void FormatWriter::write_help(std::string_view family) {
  std::string escaped;
  for (const char c : head_->help) {
    if (c == '\\' || c == '\n' || (c == '"' && format_ == Format::kOpenMetrics)) escaped += '\\';
    escaped += c == '\n' ? 'n' : c;
  }
  append_line({"# HELP ", family, " ", escaped});
}

/// Makes room for more bytes. Growing a string clears the new part, so it is only ever enlarged,
/// and truncated at the end.
void FormatWriter::reserve(std::size_t bytes) {
  if (text_.size() - used_ < bytes) text_.resize(used_ + bytes);
}

void FormatWriter::append_line(std::initializer_list<std::string_view> pieces) {
  std::size_t bytes = 1;
  for (const std::string_view piece : pieces) bytes += piece.size();
  reserve(bytes);
  Pen pen{text_.data() + used_};
  for (const std::string_view piece : pieces) pen.put(piece);
  pen.put('\n');
  used_ += bytes;
}

}  // namespace pex::exposition
