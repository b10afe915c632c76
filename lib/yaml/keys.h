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
#include "base/text.h"
#include "yaml/numbers.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::yaml {

/// The documentation of a key: KeyReference, with functions for bounds and defaults.
struct KeyText {
  std::string (*form)() = nullptr;
  std::string (*unwritten)() = nullptr;  ///< null: none
  /// Appends the keys of its map, or of each map in its list.
  void (*inner)(const std::string& map, std::vector<KeyReference>& keys) = nullptr;
};

/// One key of a map, with its reader and its documentation. A map is a table of these.
template <typename Target>
struct Key {
  std::string_view name;
  void (*read)(const Value&, Target&);
  KeyText text = {};
  std::string_view when_missing = {};  ///< the error if it is missing; empty if it is optional
  std::string_view remedy = {};        ///< then the remedy
};

/// What a key without content is: `key:`, `key: ""`, `key: {}`.
enum class Blank { kWrong, kDefault };

/// False after an error in the keys themselves, which leaves open what the map should contain: a
/// misspelled key is not also reported as missing.
template <typename Target>
bool read_map(const Value& map, std::span<const Key<Target>> keys, Target& target,
              Blank blank = Blank::kWrong) {
  std::vector<std::string> names;
  for (const Key<Target>& key : keys) names.emplace_back(key.name);
  const std::size_t ignored = map.ignored_count();
  const std::optional<Value::Entries> entries = map.entries(names);
  if (!entries) return false;
  const bool are_all_known = map.ignored_count() == ignored;

  const auto is_meant = [&](std::string_view name) {
    return std::find(entries->misspelled.begin(), entries->misspelled.end(), name) !=
           entries->misspelled.end();
  };
  for (const Key<Target>& key : keys) {
    bool found = is_meant(key.name);
    for (const auto& [name, value] : entries->known) {
      if (name != key.name) continue;
      found = true;
      if (blank == Blank::kDefault && value.is_blank()) {
        value.warn("this is empty: the default applies");
      } else {
        key.read(value, target);
      }
    }
    if (!found && are_all_known && !key.when_missing.empty()) {
      map.refuse(std::string(key.when_missing), std::string(key.remedy));
    }
  }
  return entries->misspelled.empty();
}

/// Appends the documentation of `keys`, which belong to `map`, and of those inside of them.
template <typename Target>
void list_keys(std::span<const Key<Target>> keys, const std::string& map,
               std::vector<KeyReference>& all) {
  for (const Key<Target>& key : keys) {
    const KeyText& text = key.text;
    const KeyReference& listed = all.emplace_back(
        KeyReference{map, std::string(key.name), text.form != nullptr ? text.form() : "",
                     text.unwritten != nullptr ? text.unwritten() : "", !key.when_missing.empty()});
    if (text.inner != nullptr) text.inner(path_of(listed), all);
  }
}

/// The spelling of a value in a file, for the documents: `true`, `1s`.
std::string written(std::string_view text);
std::string written(std::same_as<bool> auto flag) {  // only for bool itself: texts convert to it
  return written(std::string_view(flag ? "true" : "false"));
}
std::string written(std::size_t number);
std::string written(std::chrono::nanoseconds duration);

// The forms of values, for the documents.
std::string form_of_flag();
std::string form_of_map();
std::string form_of(const NumberRange& range);
std::string form_of(const DecimalRange& range);
std::string form_of(const DurationRange& range);
std::string form_of_list(std::size_t max, std::string_view items);
std::string form_of_words(const std::vector<std::string>& words);

/// A word of a table for read_entry.
std::string form_of_entries(const auto& table) {
  std::vector<std::string> words;
  for (const auto& entry : table) words.emplace_back(entry.word);
  return form_of_words(words);
}

/// The word of such a table for `value` in its `column`.
template <typename Entry, std::size_t size, typename T>
std::string written(const Entry (&table)[size], T Entry::*column, T value) {
  return written(lookup(table, column, value)->word);
}

/// The words that a key may have.
template <typename T>
struct Choice {
  std::string_view noun;  ///< of each: "a source of counts"
  std::span<const Word<T>> words;
  Expected expected = {};  ///< empty: one of these words
};

/// The value of the word; null after an error.
template <typename T>
const T* read_choice(const Value& value, const Choice<T>& choice) {
  std::vector<std::string> words;
  for (const Word<T>& each : choice.words) words.emplace_back(each.word);
  const std::string all = join_last(words, " or ");
  const std::string remedy = "write " + all;
  const Word<T>* found =
      read_entry(value, choice.words, choice.noun,
                 choice.expected.what.empty() ? Expected{all, remedy} : choice.expected);
  return found == nullptr ? nullptr : &found->value;
}

/// The word for `value`.
template <typename T>
std::string written(const Choice<T>& choice, T value) {
  return written(lookup(choice.words, &Word<T>::value, value)->word);
}

template <typename Member>
struct OwnerOf;
template <typename Owner, typename T>
struct OwnerOf<T Owner::*> {
  using Type = Owner;
};
template <auto member>
using Owner = typename OwnerOf<decltype(member)>::Type;

// Keys that set one member, and have the member's default.

template <auto member>
constexpr Key<Owner<member>> flag_key(std::string_view name) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) { assign(target.*member, read_flag(value)); },
      {form_of_flag, [] { return written(Target{}.*member); }},
  };
}

template <auto member, const NumberRange& range>
constexpr Key<Owner<member>> number_key(std::string_view name) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) { assign(target.*member, read_number(value, range)); },
      {[] { return form_of(range); }, [] { return written(Target{}.*member); }},
  };
}

template <auto member, const DurationRange& range>
constexpr Key<Owner<member>> duration_key(std::string_view name) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) {
        assign(target.*member, read_duration(value, range));
      },
      {[] { return form_of(range); }, [] { return written(Target{}.*member); }},
  };
}

template <auto member, const auto& choice>
constexpr Key<Owner<member>> choice_key(std::string_view name) {
  using Target = Owner<member>;
  return {
      name,
      [](const Value& value, Target& target) {
        if (const auto* chosen = read_choice(value, choice)) target.*member = *chosen;
      },
      {[] { return form_of_entries(choice.words); },
       [] { return written(choice, Target{}.*member); }},
  };
}

/// A map of `keys`, which are read into `member`.
template <auto member, const auto& keys>
constexpr Key<Owner<member>> map_key(std::string_view name) {
  using Target = Owner<member>;
  using Inner = std::remove_cvref_t<decltype(Target{}.*member)>;
  return {
      name,
      [](const Value& value, Target& target) { read_map<Inner>(value, keys, target.*member); },
      {form_of_map, nullptr,
       [](const std::string& map, std::vector<KeyReference>& all) {
         list_keys<Inner>(keys, map, all);
       }},
  };
}

}  // namespace pex::yaml
