#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/load.h"
#include "key_texts.h"
#include "markdown.h"
#include "sections.h"

namespace pex::docs {
namespace {

using yaml::KeyReference;

/// The keys of one map, and the one that it stands behind.
struct Map {
  std::string name;  ///< "groups[]"
  const KeyReference* behind = nullptr;
  std::vector<const KeyReference*> keys;
};

const KeyReference* key_before(const std::string& map, const std::vector<KeyReference>& keys) {
  const std::string path = map.ends_with("[]") ? map.substr(0, map.size() - 2) : map;
  for (const KeyReference& key : keys) {
    if (path_of(key) == path) return &key;
  }
  return nullptr;
}

bool has_page(const KeyReference& key, const std::vector<KeyReference>& keys) {
  return std::any_of(keys.begin(), keys.end(), [&](const KeyReference& inner) {
    return inner.map == path_of(key) || inner.map == path_of(key) + "[]";
  });
}

/// In their order; inner maps come behind the one that they are in. Of the outermost only the keys
/// that are no maps.
std::vector<Map> maps_of(const std::vector<KeyReference>& keys) {
  std::vector<Map> maps;
  for (const KeyReference& key : keys) {
    if (key.map.empty() && has_page(key, keys)) continue;
    Map* map = nullptr;
    for (Map& known : maps) map = known.name == key.map ? &known : map;
    if (map == nullptr) map = &maps.emplace_back(Map{key.map, key_before(key.map, keys), {}});
    map->keys.push_back(&key);
  }
  return maps;
}

/// The text above the keys of a map, without what the table with its own key has.
std::string introduction(const Map& map) {
  if (map.name.empty()) return "Keys of the file that are no maps.";
  const KeyReference& key = *map.behind;
  const bool is_list = map.name.ends_with("[]");
  if (!key.map.empty()) {
    return std::string(is_list ? "Keys of a map in " : "Keys of ") + code(path_of(key)) + ".";
  }
  const std::string form =
      is_list ? " " + code(key.name) + " is a " + key.form + ". Keys of each map:" : "";
  return meaning_of(key) + form;
}

std::string heading_of(const Map& map) { return map.name.empty() ? "top level" : map.name; }

std::string default_of(const KeyReference& key) {
  return key.is_needed ? "required" : key.unwritten;
}

/// In lines of at most 100 columns.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::string lines;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    const bool fits = column + 1 + word.size() <= kColumns;
    if (!lines.empty()) {
      lines += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string page_of(const Map& map) {
  std::string text = "## " + heading_of(map) + "\n\n" + wrapped(introduction(map)) + "\n\n" +
                     table_head({"key", "value", "default", "meaning"});
  for (const KeyReference* key : map.keys) {
    text += table_row({code(key->name), key->form, default_of(*key), meaning_of(*key)});
  }
  return text;
}

/// Markdown's `this` in bold, and nothing else that means something to scdoc.
std::string in_scdoc(std::string_view markdown) {
  constexpr std::string_view kSpecial = "_*\\#[|~<>";
  std::string text;
  for (const char c : markdown) {
    if (kSpecial.find(c) != kSpecial.npos) text += '\\';
    text += c == '`' ? '*' : c;
  }
  return text;
}

std::string manual_of(const KeyReference& key) {
  std::string text = "*" + in_scdoc(key.name) + "*: " + in_scdoc(key.form) + ".";
  if (key.is_needed) text += " Required.";
  if (!key.unwritten.empty()) text += " Default: " + in_scdoc(key.unwritten) + ".";
  return text + "\n\t" + in_scdoc(meaning_of(key)) + "\n";
}

std::string manual_of(const Map& map) {
  std::string text = "## " + heading_of(map) + "\n\n" + wrapped(in_scdoc(introduction(map))) + "\n";
  for (const KeyReference* key : map.keys) text += "\n" + manual_of(*key);
  return text;
}

template <typename Write>
std::string joined(const Write& write) {
  const std::vector<KeyReference> keys = config::configuration_keys();
  std::string text;
  for (const Map& map : maps_of(keys)) text += (text.empty() ? "" : "\n") + write(map);
  return text;
}

}  // namespace

std::string keys_for_page() {
  return joined([](const Map& map) { return page_of(map); });
}

std::string keys_for_manual() {
  return joined([](const Map& map) { return manual_of(map); });
}

}  // namespace pex::docs
