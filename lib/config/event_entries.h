#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// Reads the value of `events:`: a list of texts and of maps, or one text. An event with a wrong
/// spelling is left out; one with wrong keys is kept without them.
void read_events(const yaml::Value& value, std::vector<EventEntry>& events);

/// The form of the value of `events:`, for the documents.
std::string form_of_events();
/// Appends the keys of an event that is a map, in the list `list`.
void list_event_keys(const std::string& list, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
