#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pex::docs {

/// How a kind of file writes a comment on a line of its own.
struct CommentStyle {
  std::string_view open;
  std::string_view close;
};
/// By the file's name: Markdown, or scdoc.
CommentStyle comment_style_of(std::string_view path);

/// `page` with `text` between the marks of the section `name`; nothing when it lacks a mark.
///
///   <!-- begin: NAME (./dev generate) -->
///   <!-- end: NAME -->
std::optional<std::string> renewed(const std::string& page, std::string_view name,
                                   const std::string& text, const CommentStyle& style);

}  // namespace pex::docs
