#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pex::yaml {

/// Both count from 1; columns count bytes, as compilers and yaml-cpp do.
struct Place {
  int line = 1;
  int column = 1;
};

/// The position of the byte at `offset`; the end of the text for an offset beyond it.
Place place_at(std::string_view text, std::size_t offset);

struct Unreadable {
  std::size_t offset;
  std::string what;
  std::string remedy;
};
/// The first byte that a text file must not contain: not UTF-8, or a control character other than
/// tab and line break. yaml-cpp takes some of these for the end of the file without an error.
std::optional<Unreadable> first_unreadable(std::string_view text);

/// The first character without a shape (no-break space, byte order mark, ...) that stands in the
/// indentation of a line or next to its first ':', or anywhere in `line`. YAML takes these for
/// letters where blanks are meant.
std::optional<Unreadable> first_invisible(std::string_view text, int line = 0);

/// True if `text` contains a character that could break a line or confuse a terminal.
bool holds_control_characters(std::string_view text);

/// The operator's text, for the middle of a message: at most 60 characters, on one line; what
/// cannot be seen is escaped.
std::string shown(std::string_view text);

/// shown() between single quotes.
std::string in_quotes(std::string_view text);

}  // namespace pex::yaml
