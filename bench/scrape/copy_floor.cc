#include "bench/scrape/copy_floor.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace pex::bench {
namespace {

constexpr std::size_t kMaxDigits = 20;

}  // namespace

CopyFloor::CopyFloor(std::string text)
    : text_(std::move(text)), copy_(text_.size() + kMaxDigits, ' ') {
  for (std::string_view rest = text_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::string_view number = line.substr(line.rfind(' ') + 1);
    Line& kept = lines_.emplace_back(Line{line});
    if (!line.starts_with('#')) {
      kept.copied.remove_suffix(number.size());
      kept.has_number = true;
      std::from_chars(number.data(), number.data() + number.size(), kept.number);
      ++samples_;
    }
    rest.remove_prefix(line.size() + 1);
  }
}

void CopyFloor::run() {
  char* at = copy_.data();
  for (const Line& line : lines_) {
    std::memcpy(at, line.copied.data(), line.copied.size());
    at += line.copied.size();
    if (line.has_number) at = std::to_chars(at, at + kMaxDigits, line.number).ptr;
    *at++ = '\n';
  }
}

}  // namespace pex::bench
