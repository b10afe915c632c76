#pragma once

#include <string>

namespace pex::yaml {

/// The documentation of one key (docs/configuration.md, perf_event_exporter.yaml(5)), but for what
/// it means: docs/generator/key_texts.h. Texts are Markdown with `this` as the only markup: text as
/// it is written in a file.
struct KeyReference {
  std::string map;        ///< the map that contains it, as in messages: "groups[].events[]"; "":
                          ///< none
  std::string name;       ///< of the key
  std::string form;       ///< the form of its value, with bounds: "duration, `100ms` to `1h`"
  std::string unwritten;  ///< the default; empty: none, or `is_needed`
  bool is_needed = false;
};

/// "collection.interval"
std::string path_of(const KeyReference& key);

}  // namespace pex::yaml
