#pragma once

#include <string_view>

namespace pex::daemon {

/// What stands between the tags of the status page's one style and one script; the page is allowed
/// these texts and no others, by their hashes.
extern const std::string_view kStatusStyle;
extern const std::string_view kStatusScript;

}  // namespace pex::daemon
