#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace pex::events {

/// Where something stands in the text that was parsed: characters before it. Says nothing about
/// what was meant, so it takes no part in comparisons.
struct TextOffset {
  std::size_t characters = 0;
  bool operator==(const TextOffset&) const { return true; }
};

/// The letters behind an event (perf-list(1), "EVENT MODIFIERS"). None of u, k, h: every mode is
/// counted; some: only those. The same with H and G.
struct Modifiers {
  bool user = false;          ///< u
  bool kernel = false;        ///< k
  bool hypervisor = false;    ///< h
  bool host = false;          ///< H, outside of virtual machines
  bool guest = false;         ///< G, inside of them
  bool not_idle = false;      ///< I
  unsigned precise = 0;       ///< p, pp, ppp: about where a sample points to; no counter changes
  bool most_precise = false;  ///< P, the same
  bool pinned = false;        ///< D, of the whole group
  bool weak = false;          ///< W, of the whole group
  bool exclusive = false;     ///< e, of the whole group

  bool operator==(const Modifiers&) const = default;
};

/// The letters of the flags, in the order of the canonical spelling. The p's stand before 'P'.
struct ModifierLetter {
  char letter;
  bool Modifiers::*flag;
};
inline constexpr ModifierLetter kModifierLetters[] = {
    {'u', &Modifiers::user},         {'k', &Modifiers::kernel}, {'h', &Modifiers::hypervisor},
    {'H', &Modifiers::host},         {'G', &Modifiers::guest},  {'I', &Modifiers::not_idle},
    {'P', &Modifiers::most_precise}, {'D', &Modifiers::pinned}, {'W', &Modifiers::weak},
    {'e', &Modifiers::exclusive}};

/// "cycles", "L1-dcache-load-misses", "mem-loads": a word that the tables of event_table.h or the
/// PMUs of the machine may know.
struct NamedEvent {
  std::string name;
  bool operator==(const NamedEvent&) const = default;
};

/// "r01c2": the number a core PMU knows its event by.
struct RawEvent {
  std::uint64_t config = 0;
  bool operator==(const RawEvent&) const = default;
};

/// "umask=0x1", or "inv" alone.
struct Term {
  std::string name;
  std::optional<std::uint64_t> value;
  TextOffset at;
  bool operator==(const Term&) const = default;
};

/// "cpu/event=0x3c,umask=0x1,name=foo/", "uncore_imc/cas_count_read/": terms of the PMUs whose name
/// matches.
struct PmuEvent {
  std::string pmu;
  std::vector<Term> terms;
  std::string given_name;  ///< of the term `name`, which is about us and not the PMU; or empty
  bool operator==(const PmuEvent&) const = default;
};

/// "sched:sched_switch"
struct Tracepoint {
  std::string system;
  std::string name;
  bool operator==(const Tracepoint&) const = default;
};

/// "mem:0xADDR[/len][:rwx]"
struct Breakpoint {
  std::uint64_t address = 0;
  std::uint64_t length = 4;  ///< 1, 2, 4 or 8; of an executed one sizeof(long), as perf has it
  bool read = false;
  bool write = false;
  bool execute = false;
  bool operator==(const Breakpoint&) const = default;
};

/// "kprobe:func[+off]", "kretprobe:func", "uprobe:/path:symbol[+off]", "uretprobe:/path:0xoff".
/// What stands behind the last ':' is the place in the file, so its path may have a ':' in it, but
/// no blank, ',', '{' or '}'. Probes take no modifiers.
struct Probe {
  bool in_kernel = false;
  bool at_return = false;
  std::string file;    ///< of a uprobe: an absolute path
  std::string symbol;  ///< empty for a uprobe that is given by its offset in the file
  std::uint64_t offset = 0;
  bool operator==(const Probe&) const = default;
};

/// "INST_RETIRED:ANY_P", "arm_n1::L1D_CACHE_REFILL", "inst_retired.any": a name of the CPU's
/// vendor. What makes it one is the shape of its first word, up to a ':' or the end: no '-' in it,
/// and a capital letter or a '.' in it, or a '::' behind it. Of modifiers it takes only u, k and h,
/// as other letters may be the vendor's.
struct VendorEvent {
  std::string name;
  bool operator==(const VendorEvent&) const = default;
};

using EventKind =
    std::variant<NamedEvent, RawEvent, PmuEvent, Tracepoint, Breakpoint, Probe, VendorEvent>;

/// One event as it was spelled, before any machine has been asked about it.
struct ParsedEvent {
  EventKind kind;
  Modifiers modifiers;
  TextOffset at;
  bool operator==(const ParsedEvent&) const = default;
};

/// Events as `perf stat -e` takes them. The modifiers behind braces are in those of every event.
struct ParsedEvents {
  std::vector<ParsedEvent> events;  ///< at least one
  bool in_braces = false;           ///< "{a,b}": all of them, in one pair
  bool operator==(const ParsedEvents&) const = default;
};

/// What no machine would understand.
struct SyntaxError {
  TextOffset at;
  std::string what;    ///< "'g' is not a hexadecimal digit"
  std::string remedy;  ///< what to write instead
};

/// One grammar for all spellings:
///
///   list      = event *("," event) | "{" event *("," event) "}" [":" modifiers]
///   event     = name [":" modifiers] | pmu "/" terms "/" [[":"] modifiers] | ...
///
/// Blanks may stand around the commas and inside of the braces. Of the modifiers behind the braces
/// an event takes those of modes (u, k, h), of virtual machines (H, G) and of precision (p, P) only
/// when it has none of that kind itself. "word:rest" is an event with modifiers when `rest` has
/// no other letters than theirs, else a tracepoint. No machine is asked: "cylces" is a NamedEvent.
/// At most kMaxEventText characters, of printable ASCII.
Result<ParsedEvents, SyntaxError> parse_events(std::string_view text);

inline constexpr std::size_t kMaxEventText = 4096;

/// The canonical spelling: parse_events of it gives the same event again. Aliases are not resolved,
/// as that takes the tables; numbers are hexadecimal, modifiers in the order of the struct.
std::string spelling(const ParsedEvent& event);

}  // namespace pex::events
