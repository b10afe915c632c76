#pragma once

#include <string>

#include "daemon/status/status.h"

namespace pex::daemon {

/// The page at "/": one HTML file that needs nothing else, works without scripts and follows the
/// reader's light or dark scheme. Whatever comes from outside is escaped.
std::string status_page(const Status& status);

/// What the page may do, for the header of that name: its own style and script, by their hashes,
/// and asking where it came from for a newer self (CSP Level 3). Style attributes, event handlers
/// in attributes and anything from elsewhere are refused by the browser.
std::string content_security_policy();

}  // namespace pex::daemon
