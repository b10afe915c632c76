#pragma once

#include <string>
#include <string_view>

namespace pex::daemon {

/// Any bytes as text of an HTML page, or of an attribute in double quotes: UTF-8 (base/utf8.h),
/// with what has a meaning in HTML escaped, and control characters as the pictures that Unicode has
/// of them, so that a line break in a name is seen and does nothing.
std::string html(std::string_view text);

/// The same for a path, which may be broken into lines after each '/'.
std::string html_path(std::string_view path);

/// `tag` is a name, and attributes after it: element("td class=\"n\"", "1") is <td
/// class="n">1</td>. The content is HTML.
std::string element(std::string_view tag, std::string_view content);

/// A part of the page with a heading of its own, and `id` to link to. `title` is text.
std::string section(std::string_view id, std::string_view title, std::string_view content);

/// A table of row()s below one row of column_title()s. All of its parts tell their roles (WAI-ARIA
/// 1.2): a browser forgets what is a row or a cell where a style displays it as something else,
/// and the one for narrow screens does. `caption` is HTML, or empty; `rows` and `column_titles`
/// are HTML.
std::string table(std::string_view caption, std::string_view column_titles, std::string_view rows);

/// One row of a table: a row_title(), and cell()s.
std::string row(std::string_view cells);

/// `style` is a class, or empty; the content is HTML.
std::string column_title(std::string_view content, std::string_view style = {});
std::string row_title(std::string_view content, std::string_view style = {});

/// One cell of a table; where the screen is narrow, `label` stands before it. `style` is a class,
/// or empty; the content is HTML.
std::string cell(std::string_view label, std::string_view content, std::string_view style = {});

/// What stands in place of a value that is not known.
std::string unknown_html(std::string_view why = "unknown");

}  // namespace pex::daemon
