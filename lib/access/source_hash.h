#pragma once

#include <string>
#include <string_view>

namespace pex::access {

/// `'sha256-...'`, by which a Content-Security-Policy allows one inline script or style and no
/// other (CSP Level 3, "hash-source"): `text` is all that stands between its tags.
std::string source_hash(std::string_view text);

}  // namespace pex::access
