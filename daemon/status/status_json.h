#pragma once

#include <string>

#include "daemon/status/status.h"

namespace pex::daemon {

/// `status` as one JSON object and a line break: docs/serving.md documents each key.
/// Every key is always there; null stands for what is not known or does not apply. Texts are made
/// UTF-8 as in the page (base/utf8.h).
std::string status_json(const Status& status);

}  // namespace pex::daemon
