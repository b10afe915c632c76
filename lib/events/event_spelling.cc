#include <algorithm>
#include <array>
#include <charconv>

#include "events/event_syntax.h"

namespace pex::events {
namespace {

std::string digits(std::uint64_t number) {
  std::array<char, 16> text;
  const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), number, 16);
  return {text.data(), end};
}

std::string hex(std::uint64_t number) { return "0x" + digits(number); }

std::string letters(const Modifiers& modifiers) {
  std::string text;
  for (const auto& [letter, flag] : kModifierLetters) {
    if (letter == 'P') text.append(modifiers.precise, 'p');
    if (modifiers.*flag) text += letter;
  }
  return text;
}

std::string behind_colon(const Modifiers& modifiers) {
  const std::string text = letters(modifiers);
  return text.empty() ? text : ":" + text;
}

/// The characters that a name may have without quotes.
bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::string given_name(const std::string& name) {
  return "name=" + (is_plain(name) ? name : "'" + name + "'");
}

/// Each kind with `modifiers` where they belong.
struct Speller {
  const Modifiers& modifiers;

  std::string operator()(const NamedEvent& event) const {
    return event.name + behind_colon(modifiers);
  }
  std::string operator()(const VendorEvent& event) const {
    return event.name + behind_colon(modifiers);
  }
  std::string operator()(const RawEvent& event) const {
    return "r" + digits(event.config) + behind_colon(modifiers);
  }
  std::string operator()(const Tracepoint& event) const {
    return event.system + ":" + event.name + behind_colon(modifiers);
  }

  std::string operator()(const PmuEvent& event) const {
    std::string terms;
    for (const Term& term : event.terms) {
      if (!terms.empty()) terms += ',';
      terms += term.name;
      if (term.value) terms += "=" + hex(*term.value);
    }
    if (!event.given_name.empty()) {
      terms += (terms.empty() ? "" : ",") + given_name(event.given_name);
    }
    return event.pmu + "/" + terms + "/" + letters(modifiers);
  }

  std::string operator()(const Breakpoint& event) const {
    std::string text = "mem:" + hex(event.address) + "/" + std::to_string(event.length) + ":";
    if (event.read) text += 'r';
    if (event.write) text += 'w';
    if (event.execute) text += 'x';
    return text + behind_colon(modifiers);
  }

  std::string operator()(const Probe& event) const {
    std::string text = event.in_kernel ? "k" : "u";
    text += event.at_return ? "retprobe:" : "probe:";
    if (!event.in_kernel) text += event.file + ":";
    if (event.symbol.empty()) return text + hex(event.offset);
    return text + event.symbol + (event.offset == 0 ? "" : "+" + hex(event.offset));
  }
};

}  // namespace

std::string spelling(const ParsedEvent& event) {
  return std::visit(Speller{event.modifiers}, event.kind);
}

}  // namespace pex::events
