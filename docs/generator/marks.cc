#include "marks.h"

namespace pex::docs {
namespace {

std::string comment(const std::string& text, const CommentStyle& style) {
  return std::string(style.open) + text + std::string(style.close) + "\n";
}

}  // namespace

CommentStyle comment_style_of(std::string_view path) {
  if (path.ends_with(".scd")) return {"; ", ""};
  return {"<!-- ", " -->"};
}

std::optional<std::string> renewed(const std::string& page, std::string_view name,
                                   const std::string& text, const CommentStyle& style) {
  const std::string begin = comment("begin: " + std::string(name) + " (./dev generate)", style);
  const std::string end = comment("end: " + std::string(name), style);
  const std::size_t first = page.find(begin);
  const std::size_t last = page.find(end);
  if (first == page.npos || last == page.npos || last < first) return {};
  return page.substr(0, first) + begin + "\n" + text + "\n" + page.substr(last);
}

}  // namespace pex::docs
