#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/lookup.h"
#include "yaml/numbers.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::yaml {

/// What the documents say of a key: KeyReference, of which bounds and defaults are asked of those
/// who know them.
struct KeyText {
  std::string_view meaning = {};
  std::string (*form)() = nullptr;
  std::string (*unwritten)() = nullptr;  ///< null: nothing holds then
  /// Appends the keys of the map that stands behind this one, or of each map in its list.
  void (*inner)(const std::string& map, std::vector<KeyReference>& keys) = nullptr;
};

/// One key of a map, how its value is read and what it means. A map is a table of these.
template <typename Target>
struct Key {
  std::string_view name;
  void (*read)(const Value&, Target&);
  KeyText text = {};
  std::string_view when_missing = {};  ///< what is wrong without it; empty when it may be left out
  std::string_view remedy = {};        ///< then what to add
};

/// False after an error in the keys themselves, which leaves open what else the map was to have: a
/// key that another one was misspelled for is not reported as missing.
template <typename Target>
bool read_map(const Value& map, std::span<const Key<Target>> keys, Target& target) {
  std::vector<std::string> names;
  for (const Key<Target>& key : keys) names.emplace_back(key.name);
  const std::optional<Value::Entries> entries = map.entries(names);
  if (!entries) return false;

  const auto is_meant = [&](std::string_view name) {
    return std::find(entries->misspelled.begin(), entries->misspelled.end(), name) !=
           entries->misspelled.end();
  };
  for (const Key<Target>& key : keys) {
    bool found = is_meant(key.name);
    for (const auto& [name, value] : entries->known) {
      if (name != key.name) continue;
      found = true;
      key.read(value, target);
    }
    if (!found && !key.when_missing.empty()) {
      map.refuse(std::string(key.when_missing), std::string(key.remedy));
    }
  }
  return entries->misspelled.empty();
}

/// Appends what the documents say of `keys`, which stand in `map`, and of those inside of them.
template <typename Target>
void list_keys(std::span<const Key<Target>> keys, const std::string& map,
               std::vector<KeyReference>& all) {
  for (const Key<Target>& key : keys) {
    const KeyText& text = key.text;
    const KeyReference& listed = all.emplace_back(
        KeyReference{map, std::string(key.name), text.form != nullptr ? text.form() : "",
                     text.unwritten != nullptr ? text.unwritten() : "", std::string(text.meaning),
                     !key.when_missing.empty()});
    if (text.inner != nullptr) text.inner(path_of(listed), all);
  }
}

/// What stands so in a file, as the documents have it: `true`, `1s`.
std::string written(std::string_view text);
std::string written(std::same_as<bool> auto flag) {  // and not what converts to one, as texts do
  return written(std::string_view(flag ? "true" : "false"));
}
std::string written(std::size_t number);
std::string written(std::chrono::nanoseconds duration);

// What may be written, in the documents' words.
std::string form_of_flag();
std::string form_of_map();
std::string form_of(const NumberRange& range);
std::string form_of(const DecimalRange& range);
std::string form_of(const DurationRange& range);
std::string form_of_list(std::size_t max, std::string_view items);
std::string form_of_words(const std::vector<std::string>& words);

/// One of the words of a table that read_entry reads.
template <typename Entry, std::size_t size>
std::string form_of_entries(const Entry (&table)[size]) {
  std::vector<std::string> words;
  for (const Entry& entry : table) words.emplace_back(entry.word);
  return form_of_words(words);
}

/// The word of such a table that stands for `value`, which is in its `column`.
template <typename Entry, std::size_t size, typename T>
std::string written(const Entry (&table)[size], T Entry::*column, T value) {
  return written(lookup(table, column, value)->word);
}

template <typename Member>
struct OwnerOf;
template <typename Owner, typename T>
struct OwnerOf<T Owner::*> {
  using Type = Owner;
};
template <auto member>
using Owner = typename OwnerOf<decltype(member)>::Type;

// Keys whose value goes into one member, whose default is that of the member.

template <auto member>
constexpr Key<Owner<member>> flag_key(std::string_view name, std::string_view meaning) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) { assign(target.*member, read_flag(value)); },
      {meaning, form_of_flag, [] { return written(Target{}.*member); }},
  };
}

template <auto member, const NumberRange& range>
constexpr Key<Owner<member>> number_key(std::string_view name, std::string_view meaning) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) { assign(target.*member, read_number(value, range)); },
      {meaning, [] { return form_of(range); }, [] { return written(Target{}.*member); }},
  };
}

template <auto member, const DurationRange& range>
constexpr Key<Owner<member>> duration_key(std::string_view name, std::string_view meaning) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) {
        assign(target.*member, read_duration(value, range));
      },
      {meaning, [] { return form_of(range); }, [] { return written(Target{}.*member); }},
  };
}

/// A map of `keys`, which are read into `member`.
template <auto member, const auto& keys>
constexpr Key<Owner<member>> map_key(std::string_view name, std::string_view meaning) {
  using Target = Owner<member>;
  using Inner = std::remove_cvref_t<decltype(Target{}.*member)>;
  return {
      name,
      [](const Value& value, Target& target) { read_map<Inner>(value, keys, target.*member); },
      {meaning, form_of_map, nullptr,
       [](const std::string& map, std::vector<KeyReference>& all) {
         list_keys<Inner>(keys, map, all);
       }},
  };
}

}  // namespace pex::yaml
