
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "base/small_file.h"
#include "base/utf8.h"
#include "config/load.h"
#include "support/test_headers.h"
#include "support/timed_property.h"
#include "yaml/tree.h"

namespace pex::config::writers_test {
namespace {

using yaml::Node;

const std::string kShipped = PEX_SOURCE_DIR "/config/";
const std::string kEachKey = PEX_SOURCE_DIR "/tests/unit/config/each_key_at_its_limit.json";
const std::vector<std::string> kFiles = {kEachKey,
                                         kShipped + "perf_event_exporter.yaml",
                                         kShipped + "examples/minimal.yaml",
                                         kShipped + "examples/probes.yaml",
                                         kShipped + "examples/server_memory.yaml",
                                         kShipped + "examples/services.yaml"};

Config loaded(const std::string& text) {
  Loaded loaded = load_text(text, "c.yaml");
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) {
    ADD_FAILURE() << describe(error) << "\n" << text;
  }
  return loaded.config;
}

/// What it means, wherever that is written.
Config meaning(Config config) {
  config.is_default = false;
  config.origin = {.revision = config.origin.revision};
  for (Group& group : config.groups) {
    group.at = group.cpus.at = group.duty_cycle_at = {};
    for (CpuEntry& each : group.cpus.exclude) each.at = {};
    for (EventEntry& each : group.events) each.at = {};
  }
  config.cpus.at = {};
  for (CpuEntry& each : config.cpus.exclude) each.at = {};
  for (PatternEntry& each : config.cgroups.include) each.at = {};
  for (PatternEntry& each : config.cgroups.exclude) each.at = {};
  for (LabelRule& rule : config.cgroups.labels) {
    rule.match.at = {};
    for (LabelSetting& each : rule.set) each.at = {};
  }
  for (CgroupSum& sum : config.cgroups.sums) {
    sum.at = {};
    for (SumLabel& each : sum.by) each.at = {};
  }
  return config;
}

Node tree_of(const std::string& text) {
  yaml::Diagnostics diagnostics;
  return yaml::parse_yaml(text, "c.yaml", diagnostics).value();
}

/// Writes a tree in the styles of PyYAML, js-yaml, go-yaml and JSON, one drawn for each value.
class Writer {
 public:
  std::string document(const Node& root) {
    std::string text = drawn({"", "\xef\xbb\xbf"});
    text += drawn({"", "---\n", "%YAML 1.1\n---\n", "# by a program\n\n"});
    text += is_drawn() ? flow(root) + "\n" : block(root, 0).substr(1);
    text += drawn({"", "...\n", "\n\n"});
    if (!is_drawn()) return text;
    std::string on_windows;
    for (const char c : text) on_windows += c == '\n' ? "\r\n" : std::string(1, c);
    return on_windows;
  }

 private:
  static bool is_drawn() { return *rc::gen::arbitrary<bool>(); }
  static std::size_t below(std::size_t end) { return *rc::gen::inRange<std::size_t>(0, end); }
  static std::string drawn(const std::vector<std::string>& of) { return of[below(of.size())]; }

  /// In a line of its parent or, from a line break on, below it.
  std::string block(const Node& node, std::size_t indentation) {
    if (node.kind == Node::Kind::kText) return " " + text_in_block(node, indentation);
    if (node.children.empty() || below(8) == 0) return " " + flow(node) + end_of_line();
    return node.kind == Node::Kind::kMap ? block_map(node, indentation)
                                         : block_list(node, indentation);
  }

  std::string block_map(const Node& map, std::size_t indentation) {
    std::string text = "\n";
    const std::size_t more = 2 * (1 + below(3));
    for (std::size_t i = 0; i < map.children.size(); i += 2) {
      const Node& value = map.children[i + 1];
      const bool is_list = value.kind == Node::Kind::kList;
      text += std::string(indentation, ' ') + key(map.children[i]) + ":" +
              block(value, indentation + (is_list && is_drawn() ? 0 : more));
    }
    return text;
  }

  std::string block_list(const Node& list, std::size_t indentation) {
    std::string text = "\n";
    for (const Node& item : list.children) {
      const std::string before(indentation, ' ');
      const std::string written = block(item, indentation + 2);
      const bool is_below = written.starts_with('\n');
      text += before + "-";
      text += is_below ? " " + written.substr(1 + indentation + 2) : written;
    }
    return text;
  }

  std::string flow(const Node& node) {
    if (node.kind == Node::Kind::kText) return one_line(node);
    const bool is_map = node.kind == Node::Kind::kMap;
    const std::string comma = drawn({",", ", "}) == "," ? ", " : ",\n   ";
    std::string text = is_map ? "{" : "[";
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (is_map) text += key(node.children[i++]) + ": ";
      text += flow(node.children[i]);
      if (i + 1 < node.children.size()) text += comma;
    }
    return text + (is_map ? "}" : "]");
  }

  std::string key(const Node& node) {
    return is_drawn() ? node.text : "\"" + escaped(node.text, false) + "\"";
  }

  static std::string end_of_line() { return drawn({"\n", "\n", "  \n", "\t\n", "  # why\n"}); }

  std::string text_in_block(const Node& node, std::size_t indentation) {
    if (!is_text(node) || is_drawn()) return one_line(node) + end_of_line();
    const bool is_simple = node.text.find_first_of("\t\n") == std::string::npos &&
                           node.text.front() != ' ' && node.text.back() != ' ';
    if (!is_simple) return one_line(node) + end_of_line();
    const std::string before(indentation + 2, ' ');
    switch (below(4)) {
      case 0:
        return drawn({"|", "|-"}) + "\n" + before + node.text + "\n";
      case 1:
        return drawn({">", ">-"}) + "\n" + before + folded(node.text, before) + "\n";
      case 2:
        return folded("'" + in_single_quotes(node.text) + "'", before) + "\n";
      default:
        return folded("\"" + escaped(node.text, is_drawn()) + "\"", before) + "\n";
    }
  }

  /// At the first single blank after column 80, as PyYAML and libyaml do.
  static std::string folded(const std::string& text, const std::string& before) {
    constexpr std::size_t kWidth = 80;
    std::string lines;
    std::size_t column = kWidth / 2;
    for (std::size_t i = 0; i < text.size(); ++i, ++column) {
      const bool is_alone = text[i] == ' ' && i > 0 && text[i - 1] != ' ' && text[i - 1] != '\\' &&
                            i + 1 < text.size() && text[i + 1] != ' ';
      if (is_alone && column > kWidth) {
        lines += "\n" + before;
        column = before.size();
      } else {
        lines += text[i];
      }
    }
    return lines;
  }

  std::string one_line(const Node& node) {
    if (!is_text(node)) return number_or_flag(node.text);
    const bool is_on = node.text == "on";
    const bool is_flag_of_yaml11 = node.plain && (is_on || node.text == "off");
    if (is_flag_of_yaml11 && is_drawn()) return number_or_flag(is_on ? "true" : "false");
    switch (below(is_plain_possible(node.text) ? 4 : 3)) {
      case 0:
        return "'" + in_single_quotes(node.text) + "'";
      case 1:
        return "\"" + escaped(node.text, is_drawn()) + "\"";
      case 2:
        return "!!str \"" + escaped(node.text, false) + "\"";
      default:
        return node.text;
    }
  }

  static std::string number_or_flag(const std::string& text) {
    const bool is_flag = text == "true" || text == "false";
    if (below(4) == 0) return (is_flag ? "!!bool \"" : "!!float '") + text + (is_flag ? '"' : '\'');
    if (!is_flag || is_drawn()) return text;
    return text == "true" ? drawn({"True", "TRUE"}) : drawn({"False", "FALSE"});
  }

  /// Not a number or a flag, which would be wrong in quotes.
  static bool is_text(const Node& node) {
    const bool is_number = node.text.find_first_not_of("0123456789.e+-") == std::string::npos;
    return !node.plain || !(is_number || node.text == "true" || node.text == "false");
  }

  static bool is_plain_possible(const std::string& text) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/_";
    const bool is_null = text.empty() || text == "null";
    return !is_null && text.find_first_not_of(kLetters) == std::string::npos;
  }

  static std::string in_single_quotes(const std::string& text) {
    std::string quoted;
    for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
    return quoted;
  }

  /// In JSON's way: \/ is allowed, and characters beyond U+FFFF are two surrogates.
  static std::string escaped(const std::string& text, bool in_ascii) {
    std::string written;
    for (std::string_view rest = text; !rest.empty();) {
      const Character character = first_character(rest);
      const std::string bytes(rest.substr(0, character.bytes));
      rest.remove_prefix(character.bytes);
      if (bytes == "\"" || bytes == "\\" || (bytes == "/" && in_ascii)) {
        written += "\\" + bytes;
      } else if (character.code < 0x80 || !in_ascii) {
        written += bytes;
      } else if (character.code < 0x10000) {
        written += unit(character.code);
      } else {
        const std::uint32_t beyond = character.code - 0x10000;
        written += unit(0xd800 + (beyond >> 10)) + unit(0xdc00 + (beyond & 0x3ff));
      }
    }
    return written;
  }

  static std::string unit(std::uint32_t code) {
    char written[8];
    std::snprintf(written, sizeof written, "\\u%04x", code);
    return written;
  }
};

/// Each key of the reference is in the file, but for the keys that would exclude another one.
TEST(WritersTest, HaveEachKeyToWrite) {
  const std::string text = *read_small_file(kEachKey);
  for (const yaml::KeyReference& key : configuration_keys()) {
    if (key.name == "inherit") continue;  // it may only be false
    EXPECT_NE(text.find("\"" + std::string(key.name) + "\""), std::string::npos) << key.name;
  }
}

PEX_TIMED_PROPERTY(WritersTest, GiveTheSameConfigurationWhateverTheirStyle) {
  const std::string text =
      *read_small_file(kFiles[*rc::gen::inRange<std::size_t>(0, kFiles.size())]);
  Writer writer;
  const std::string written = writer.document(tree_of(text));

  RC_LOG() << written;
  RC_ASSERT(meaning(loaded(written)) == meaning(loaded(text)));
}

}  // namespace
}  // namespace pex::config::writers_test
