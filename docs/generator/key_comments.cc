#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/load.h"
#include "key_texts.h"
#include "sections.h"
#include "yaml/keys.h"

namespace pex::docs {
namespace {

using yaml::KeyReference;

std::string without_backticks(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return text;
}

std::string comment_of(const KeyReference& key) {
  std::string text = summary_of(meaning_of(key));
  if (!key.unwritten.empty()) text += " Default: " + key.unwritten + ".";
  return "# " + without_backticks(std::move(text));
}

std::size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// The key of a line in a map without other maps in it: "  interval: 1s"; else empty.
std::string key_in(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (line.empty() || colon == line.npos) return {};
  const std::string key = line.substr(indent_of(line), colon - indent_of(line));
  const bool is_key = key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == key.npos;
  return is_key ? key : "";
}

/// The documentation of the keys that the lines of a file have, one after the other.
class KeyFinder {
 public:
  /// Null for a line that is not a key of the outermost map or of a map in it, and for a map: its
  /// keys have comments.
  const KeyReference* next(const std::string& line) {
    const std::string key = key_in(line);
    const std::size_t indent = indent_of(line);
    if (key.empty() || indent > 2) return nullptr;
    if (indent == 0) map_ = key;
    const std::string path = indent == 0 ? key : map_ + "." + key;
    const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const KeyReference& each) {
      return path_of(each) == path;
    });
    return found == keys_.end() || found->form == yaml::form_of_map() ? nullptr : &*found;
  }

 private:
  std::vector<KeyReference> keys_ = config::configuration_keys();
  std::string map_;
};

bool is_comment(const std::string& line) {
  return indent_of(line) < line.size() && line[indent_of(line)] == '#';
}

}  // namespace

std::string with_key_comments(const std::string& yaml) {
  KeyFinder keys;
  std::vector<std::string> renewed;
  for (const std::string_view each : split(yaml, '\n')) {
    const std::string line(each);
    if (const KeyReference* key = keys.next(line); key != nullptr) {
      while (!renewed.empty() && is_comment(renewed.back())) renewed.pop_back();
      renewed.push_back(std::string(indent_of(line), ' ') + comment_of(*key));
    }
    renewed.push_back(line);
  }
  return join(renewed, "\n");
}

}  // namespace pex::docs
