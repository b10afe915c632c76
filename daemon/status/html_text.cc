#include "daemon/status/html_text.h"

#include "base/utf8.h"

namespace pex::daemon {
namespace {

struct Escape {
  char character;
  std::string_view text;
};
constexpr Escape kEscapes[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

constexpr char kDelete = 0x7f;
constexpr std::string_view kPictureOfDelete = "\u2421";

/// Those below the blank have their pictures in one row of Unicode, from U+2400 on.
std::string picture_of(char control) {
  std::string picture = "\u2400";
  picture.back() = static_cast<char>(picture.back() + control);
  return picture;
}

std::string escaped(char character) {
  for (const Escape& escape : kEscapes) {
    if (escape.character == character) return std::string(escape.text);
  }
  if (character == kDelete) return std::string(kPictureOfDelete);
  const bool is_control = static_cast<unsigned char>(character) < ' ';
  return is_control ? picture_of(character) : std::string(1, character);
}

std::string with_class(std::string tag, std::string_view style) {
  if (!style.empty()) tag.append(" class=\"").append(style).append("\"");
  return tag;
}

}  // namespace

std::string html(std::string_view text) {
  std::string result;
  for (const char character : as_utf8(text)) result += escaped(character);
  return result;
}

std::string html_path(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash == path.npos ? slash : slash + 1);
    result += html(part);
    path.remove_prefix(part.size());
    if (!path.empty() && part.size() > 1) result += "<wbr>";
  }
  return result;
}

std::string element(std::string_view tag, std::string_view content) {
  std::string text;
  ((text += '<') += tag) += '>';
  text += content;
  ((text += "</") += tag.substr(0, tag.find(' '))) += '>';
  return text;
}

std::string section(std::string_view id, std::string_view title, std::string_view content) {
  const std::string name{id};
  return element("section id=\"" + name + "\" aria-labelledby=\"" + name + "-title\"",
                 element("h2 id=\"" + name + "-title\"", html(title)).append(content)) +
         '\n';
}

std::string table(std::string_view caption, std::string_view column_titles, std::string_view rows) {
  const std::string head = element("thead role=\"rowgroup\"", row(column_titles));
  const std::string body = element("tbody role=\"rowgroup\"", rows);
  return element("table role=\"table\"",
                 (caption.empty() ? "" : element("caption", caption)) + head + body);
}

std::string row(std::string_view cells) { return element("tr role=\"row\"", cells); }

std::string column_title(std::string_view content, std::string_view style) {
  return element(with_class("th scope=\"col\" role=\"columnheader\"", style), content);
}

std::string row_title(std::string_view content, std::string_view style) {
  return element(with_class("th scope=\"row\" role=\"rowheader\"", style), content);
}

std::string cell(std::string_view label, std::string_view content, std::string_view style) {
  const std::string tag = with_class("td role=\"cell\"", style);
  return element(tag + " data-label=\"" + html(label) + "\"", element("div", content));
}

std::string unknown_html(std::string_view why) {
  return element("span class=\"unknown\"", html(why));
}

}  // namespace pex::daemon
