#include "config/event_entries.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/plain_text.h"

namespace pex::config {
namespace {

constexpr std::size_t kMaxEventsPerGroup = 64;
constexpr yaml::DecimalRange kScale = {1e-18, 1e18};  // keeps the product of count and scale finite

/// The event whose keys are being read.
struct ParsedEventEntry {
  EventEntry entry;
  std::optional<yaml::Value> text;  ///< the position of its spelling
};

void read_spelling(const yaml::Value& value, ParsedEventEntry& parsed) {
  const std::optional<std::string> event =
      value.text({"an event", "write an event, for example cycles"});
  if (!event) return;
  if (trim(*event).empty()) return value.refuse("the event is empty", "name one, or remove it");
  parsed.text = value;
  parsed.entry.spelling = *event;
  parsed.entry.at = value.at();
}

/// A text that describes an event.
struct DescriptionText {
  std::string_view noun;
  std::size_t max;  ///< characters
  yaml::Expected expected;
};
constexpr DescriptionText kName = {"name", 128, {"a name", "write a name, for example llc_misses"}};
constexpr DescriptionText kHelp = {
    "help", 512, {"a sentence", "write one line, for example 'Loads that missed the last cache.'"}};
// The kernel accepts one page, with the terminating byte.
constexpr DescriptionText kFilter = {
    "filter", 4095, {"a filter", "write one line, for example 'prev_prio < 100'"}};

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // UTF-8: not a continuation byte
  }));
}

/// Without surrounding blanks.
std::optional<std::string> read_description(const yaml::Value& value, const DescriptionText& kind) {
  const std::optional<std::string> text = value.text(kind.expected);
  if (!text) return {};
  const std::string_view inner = trim(*text);
  const std::size_t length = characters_in(inner);
  if (0 < length && length <= kind.max) return std::string(inner);
  if (length == 0) {
    value.refuse(fmt::format("the {} is empty", kind.noun), "write one, or remove the key");
  } else {
    value.refuse(fmt::format("the {} is {} characters long", kind.noun, length),
                 fmt::format("write at most {}", kind.max));
  }
  return {};
}

bool is_letter_or_digit(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
}

void read_name(const yaml::Value& value, ParsedEventEntry& parsed) {
  const std::optional<std::string> name = read_description(value, kName);
  if (!name) return;
  if (std::none_of(name->begin(), name->end(), is_letter_or_digit)) {
    return value.refuse(
        yaml::in_quotes(*name) + " has no letter or digit that a metric's name can keep",
        "use some of a-z and 0-9");
  }
  parsed.entry.name = *name;
}

void read_help(const yaml::Value& value, ParsedEventEntry& parsed) {
  std::optional<std::string> help = read_description(value, kHelp);
  if (!help) return;
  constexpr std::string_view kEnds = ".!?";
  if (kEnds.find(help->back()) == kEnds.npos) *help += '.';
  parsed.entry.help = std::move(help);
}

constexpr yaml::Expected kUnit = {
    "a unit",
    "write events, seconds, joules or bytes; 'scale' is how many of them one count is worth"};

void read_unit(const yaml::Value& value, ParsedEventEntry& parsed) {
  const UnitEntry* found = yaml::read_entry<UnitEntry>(value, kUnits, "a unit", kUnit);
  if (found != nullptr) parsed.entry.unit = found->unit;
}

/// Its maximum length, and further conditions.
std::string form_of(const DescriptionText& kind) {
  return fmt::format("text of at most {} characters", kind.max);
}

constexpr yaml::Key<ParsedEventEntry> kEventKeys[] = {
    {"event",
     read_spelling,
     {[] { return std::string("text"); }},
     "the event itself is missing",
     "add it, for example 'event: cycles'"},
    {"name",
     read_name,
     {[] { return form_of(kName); }, [] { return std::string("made from the spelling"); }}},
    {"help",
     read_help,
     {[] { return form_of(kHelp) + ", one line"; },
      [] { return std::string("from the kernel or the table of events"); }}},
    {"unit",
     read_unit,
     {[] { return yaml::form_of_entries(kUnits); },
      [] {
        return "from the kernel, else " + yaml::written(kUnits, &UnitEntry::unit, Unit::kEvents);
      }}},
    {"scale",
     [](const yaml::Value& value, ParsedEventEntry& parsed) {
       yaml::assign(parsed.entry.scale, read_decimal(value, kScale));
     },
     {[] { return yaml::form_of(kScale); },
      [] { return "from the kernel, else " + yaml::written(std::size_t{1}); }}},
    {"filter",
     [](const yaml::Value& value, ParsedEventEntry& parsed) {
       yaml::assign(parsed.entry.filter, read_description(value, kFilter));
     },
     {[] { return form_of(kFilter); }, [] { return std::string("everything is counted"); }}},
};

bool refuse_unquoted_braces(const yaml::Value& value) {
  if (!value.is_map_by_accident("event")) return false;
  value.refuse("found a map where an event is expected",
               "put text in braces in quotes, for example \"{cycles,instructions}:u\", and no ':' "
               "after an event");
  return true;
}

void read_event(const yaml::Value& value, yaml::DuplicateKeys& spellings,
                std::vector<EventEntry>& events) {
  if (refuse_unquoted_braces(value)) return;
  ParsedEventEntry parsed;
  if (value.is_map()) {
    const std::size_t errors = value.error_count();
    yaml::read_map<ParsedEventEntry>(value, kEventKeys, parsed);
    parsed.entry.is_complete = value.error_count() == errors;
  } else {
    read_spelling(value, parsed);
  }
  if (!parsed.text) return;
  // The same event under another name is another series: with another filter, for example.
  const bool has_own_name = parsed.entry.name || !parsed.entry.is_complete;
  if (!has_own_name && !spellings.add(parsed.entry.spelling, *parsed.text)) return;
  events.push_back(std::move(parsed.entry));
}

/// YAML divides [cpu/event=0x3c,umask=0x1/] at the comma. The event of a PMU that begins at `first`
/// and ends in a later item, with the number of its items; nothing if that item is a whole event.
struct DividedEvent {
  std::string whole;
  std::size_t items = 0;
};
std::optional<DividedEvent> divided_event(std::span<const yaml::Value> items, std::size_t first) {
  const auto has_one_slash = [](std::string_view text) {
    return std::count(text.begin(), text.end(), '/') == 1;
  };
  DividedEvent event{std::string(items[first].unchecked_text()), 1};
  if (!has_one_slash(event.whole) || event.whole.find(':') < event.whole.find('/')) return {};
  for (std::size_t at = first + 1; at < items.size(); ++at) {
    const std::string_view piece = items[at].unchecked_text();
    if (piece.empty()) return {};
    (event.whole += ',') += piece;
    ++event.items;
    if (has_one_slash(piece)) return event;
    if (piece.find('/') != piece.npos) return {};
  }
  return {};
}

constexpr yaml::Expected kEvents = {"a list of events",
                                    "write a list, for example [cycles, instructions]"};

}  // namespace

void read_events(const yaml::Value& value, std::vector<EventEntry>& events) {
  yaml::DuplicateKeys spellings("remove one of the two");
  if (value.is_text()) return read_event(value, spellings, events);
  if (refuse_unquoted_braces(value)) return;
  const auto items = value.items(kEvents);
  if (!items) return;
  if (items->empty() || items->size() > kMaxEventsPerGroup) {
    return value.refuse(fmt::format("a group of {} events", items->size()),
                        "list 1 to 64 events; more of them go into further groups");
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    const yaml::Value& item = (*items)[i];
    const auto divided = divided_event(*items, i);
    if (!divided) {
      read_event(item, spellings, events);
      continue;
    }
    item.refuse("the event is divided at its comma",
                "put text that contains ',' in quotes: \"" + divided->whole + "\"");
    i += divided->items - 1;
  }
}

std::string form_of_events() {
  return fmt::format("list of 1 to {} events, each a text or a map; or one text",
                     kMaxEventsPerGroup);
}

void list_event_keys(const std::string& list, std::vector<yaml::KeyReference>& all) {
  list_keys<ParsedEventEntry>(kEventKeys, list + "[]", all);
}

}  // namespace pex::config
