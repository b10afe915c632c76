#pragma once

#include <vector>

#include "config/config.h"
#include "config/value.h"

namespace pex::config {

/// Reads what stands behind `events:`: a list of texts and of maps, or one text. An event that is
/// wrong in itself is left out; one that is wrong in what is said of it is kept without that.
void read_events(const Value& value, std::vector<EventEntry>& events);

}  // namespace pex::config
