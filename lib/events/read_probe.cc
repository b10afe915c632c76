#include <algorithm>
#include <iterator>
#include <string>

#include "events/event_kinds.h"
#include "events/modifier_letters.h"

// "kprobe:do_exit", "uprobe:/usr/bin/bash:readline+0x10"

namespace pex::events {
namespace {

constexpr const char* kWriteKernelProbe =
    "write the name of a function in the kernel, as in 'kprobe:do_sys_openat2'";
constexpr const char* kWriteUserProbe =
    "write an absolute path, and a function or an offset in that file, as in "
    "'uprobe:/usr/bin/bash:readline' or 'uprobe:/usr/bin/bash:0x1234'";
constexpr const char* kWriteEntryProbe =
    "leave the offset out, or count the instruction there with 'kprobe:' or 'uprobe:'";
constexpr const char* kWriteNoModifiers = "leave ':' and what follows out";

struct ProbeKind {
  std::string_view word;
  bool in_kernel;
  bool at_return;
};
constexpr ProbeKind kProbeKinds[] = {{"kprobe", true, false},
                                     {"kretprobe", true, true},
                                     {"uprobe", false, false},
                                     {"uretprobe", false, true}};

const ProbeKind* find_kind(std::string_view word) {
  const auto* const found = std::find_if(std::begin(kProbeKinds), std::end(kProbeKinds),
                                         [word](const ProbeKind& row) { return row.word == word; });
  return found == std::end(kProbeKinds) ? nullptr : found;
}

const char* how_to_write(const Probe& probe) {
  return probe.in_kernel ? kWriteKernelProbe : kWriteUserProbe;
}

/// Compilers put '.' and '$' into names of functions, symbol versions have '@', methods in Go the
/// rest.
bool is_symbol_character(char c) {
  return is_letter_or_digit(c) || c == '_' || is_one_of(".$@()*[]", c);
}

/// "/bin/a:main:u", which would else be the function u of a file "/bin/a:main".
bool has_modifiers(std::string_view file, std::string_view place) {
  const std::size_t colon = file.rfind(':');
  return !place.empty() && all_are(place, is_modifier) && colon != std::string_view::npos &&
         file.find('/', colon) == std::string_view::npos;
}

SyntaxError probe_has_modifiers(const TextCursor& in) {
  return mistake(in, "a probe takes no modifiers", kWriteNoModifiers);
}

/// With the ':' behind it.
Parsed read_file(TextCursor& in, std::string& file) {
  const std::string_view text = in.before(kEventEnds);
  if (!text.starts_with('/')) return missing(in, "an absolute path", kWriteUserProbe);
  const std::size_t colon = text.rfind(':');
  file = text.substr(0, colon);
  in.skip(file.size());
  if (colon == std::string_view::npos) {
    return missing(in, "':' with a place in the file", kWriteUserProbe);
  }
  if (has_modifiers(file, text.substr(colon + 1))) return probe_has_modifiers(in);
  in.skip(1);
  return {};
}

Parsed read_offset(TextCursor& in, Probe& probe) {
  const TextCursor start = in;
  if (Parsed read = read_number(in, probe.offset, how_to_write(probe)); !read) return read;
  const bool is_behind_entry = !probe.symbol.empty() && probe.offset != 0;
  if (!probe.at_return || !is_behind_entry) return {};
  return mistake(start, "a probe of a function's return takes no offset", kWriteEntryProbe);
}

Parsed read_place(TextCursor& in, Probe& probe) {
  if (is_digit(in.peek()) && !probe.in_kernel) return read_offset(in, probe);
  if (is_digit(in.peek()) || !is_symbol_character(in.peek())) {
    return missing(in, "the name of a function", how_to_write(probe));
  }
  probe.symbol = in.take_while(is_symbol_character);
  return in.take("+") ? read_offset(in, probe) : Parsed{};
}

}  // namespace

bool is_probe(std::string_view word) { return find_kind(word) != nullptr; }

Parsed read_probe(TextCursor& in, ParsedEvent& event) {
  const auto& [word, in_kernel, at_return] = *find_kind(in.before(kWordEnds));
  Probe& probe = event.kind.emplace<Probe>(Probe{in_kernel, at_return, {}, {}, 0});
  in.take(word);
  if (!in.take(":")) return missing(in, "':' with a function", how_to_write(probe));
  Parsed file = in_kernel ? Parsed{} : read_file(in, probe.file);
  if (!file) return file;
  if (Parsed place = read_place(in, probe); !place) return place;
  return in.peek() == ':' ? probe_has_modifiers(in) : Parsed{};
}

}  // namespace pex::events
