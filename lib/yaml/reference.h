#pragma once

#include <string>

namespace pex::yaml {

/// What the documents say of one key (docs/configuration.md, perf_event_exporter.yaml(5)). Texts
/// are Markdown, of which only `this` is used: it stands so in a file.
struct KeyReference {
  std::string map;        ///< that it stands in, as messages have it: "groups[].events[]"; "": none
  std::string name;       ///< of the key
  std::string form;       ///< what may be written, with its bounds: "duration, `100ms` to `1h`"
  std::string unwritten;  ///< what holds where the key is left out; empty: nothing, or `is_needed`
  std::string meaning;    ///< whole sentences
  bool is_needed = false;
};

/// "collection.interval"
std::string path_of(const KeyReference& key);

}  // namespace pex::yaml
