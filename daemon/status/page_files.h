#pragma once

#include <array>
#include <string_view>

namespace pex::daemon {

/// One file of daemon/status/page as it stood when the program was built.
struct PageFile {
  std::string_view path;  ///< where it is served
  std::string_view content_type;
  std::string_view content;
};
/// The status page. It is the same for everyone, and draws what it fetches from /api/v1/status.
extern const std::array<PageFile, 3> kPageFiles;

/// What the page may do, for the header of that name: use its own files, and ask where it came from
/// for its status (CSP Level 3). The browser refuses inline scripts and styles, anything from
/// elsewhere, and markup that is made from strings (Trusted Types).
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

}  // namespace pex::daemon
