#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// Reads what stands behind `events:`: a list of texts and of maps, or one text. An event that is
/// wrong in itself is left out; one that is wrong in what is said of it is kept without that.
void read_events(const yaml::Value& value, std::vector<EventEntry>& events);

/// What may stand behind `events:`, in the documents' words.
std::string form_of_events();
/// Appends the keys of an event that is a map, in the list `list`.
void list_event_keys(const std::string& list, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
