#pragma once

#include <array>
#include <string_view>

namespace pex::daemon {

/// One file of daemon/status/page, embedded at build time.
struct PageFile {
  std::string_view path;  ///< path on the server
  std::string_view content_type;
  std::string_view content;
};
/// The status page: static files that draw the JSON of /api/v1/status.
extern const std::array<PageFile, 3> kPageFiles;

/// The Content-Security-Policy of the page: it may use its own files and fetch its status (CSP
/// Level 3). The browser refuses inline scripts and styles, other origins, and markup that is made
/// from strings (Trusted Types).
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

}  // namespace pex::daemon
