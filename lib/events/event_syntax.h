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

/// A position in the parsed text: the number of characters before it. Not part of an event's
/// identity, so comparisons ignore it.
struct TextOffset {
  std::size_t characters = 0;
  bool operator==(const TextOffset&) const { return true; }
};

/// The letters after an event (perf-list(1), "EVENT MODIFIERS"). None of u, k, h: every mode is
/// counted; some: only those. The same for H and G.
struct Modifiers {
  bool user = false;          ///< u
  bool kernel = false;        ///< k
  bool hypervisor = false;    ///< h
  bool host = false;          ///< H, outside of virtual machines
  bool guest = false;         ///< G, inside of them
  bool not_idle = false;      ///< I
  unsigned precise = 0;       ///< p, pp, ppp: about samples; without effect on a counter
  bool most_precise = false;  ///< P, the same
  bool pinned = false;        ///< D, of the whole group
  bool weak = false;          ///< W, of the whole group
  bool exclusive = false;     ///< e, of the whole group

  bool operator==(const Modifiers&) const = default;
};

/// The letters of the flags, in the order of the canonical spelling. The p's precede 'P'.
struct ModifierLetter {
  char letter;
  bool Modifiers::*flag;
};
inline constexpr ModifierLetter kModifierLetters[] = {
    {'u', &Modifiers::user},         {'k', &Modifiers::kernel}, {'h', &Modifiers::hypervisor},
    {'H', &Modifiers::host},         {'G', &Modifiers::guest},  {'I', &Modifiers::not_idle},
    {'P', &Modifiers::most_precise}, {'D', &Modifiers::pinned}, {'W', &Modifiers::weak},
    {'e', &Modifiers::exclusive}};

/// "cycles", "L1-dcache-load-misses", "mem-loads": a word that may be in the tables of
/// event_table.h or an event of the machine's PMUs.
struct NamedEvent {
  std::string name;
  bool operator==(const NamedEvent&) const = default;
};

/// "r01c2", "r0x1c2": the number of an event of the core PMU.
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
  std::string given_name;  ///< from the term `name`, which is for us and not for the PMU; or empty
  bool operator==(const PmuEvent&) const = default;
};

/// "sched:sched_switch"
struct Tracepoint {
  std::string system;
  std::string name;
  bool operator==(const Tracepoint&) const = default;
};

/// How "word:rest" reads as a tracepoint, if it is one here: "mygroup:up", whose rest could be
/// modifiers, "MyGroup:open", which could be a vendor's. Follows from the text, so comparisons
/// ignore it.
struct AsTracepoint {
  Tracepoint point;     ///< without a system: it cannot be one
  Modifiers modifiers;  ///< behind its name
  bool operator==(const AsTracepoint&) const { return true; }
};

/// "mem:0xADDR[/len][:rwx]"
struct Breakpoint {
  std::uint64_t address = 0;
  std::uint64_t length = 4;  ///< 1, 2, 4 or 8; sizeof(long) for execution, as in perf
  bool read = false;
  bool write = false;
  bool execute = false;
  bool operator==(const Breakpoint&) const = default;
};

/// "kprobe:func[+off]", "kretprobe:func", "uprobe:/path:symbol[+off]", "uretprobe:/path:0xoff". The
/// text after the last ':' is the place in the file, so its path may contain a ':', but no blank,
/// ',', '{' or '}'. Probes take no modifiers.
struct Probe {
  bool in_kernel = false;
  bool at_return = false;
  std::string file;    ///< of a uprobe: an absolute path
  std::string symbol;  ///< empty for a uprobe at an offset in the file
  std::uint64_t offset = 0;
  bool operator==(const Probe&) const = default;
};

/// "INST_RETIRED:ANY_P", "arm_n1::L1D_CACHE_REFILL", "inst_retired.any": a name of the CPU's
/// vendor. Recognized by its first word, up to a ':' or the end: it contains no '-', and contains a
/// capital letter or a '.', or a '::' follows it; and it is not of perf-probe(1). Takes only the
/// modifiers u, k and h, as other letters may be the vendor's.
struct VendorEvent {
  std::string name;
  bool operator==(const VendorEvent&) const = default;
};

using EventKind =
    std::variant<NamedEvent, RawEvent, PmuEvent, Tracepoint, Breakpoint, Probe, VendorEvent>;

/// One event as it was spelled, independent of a machine.
struct ParsedEvent {
  EventKind kind;
  Modifiers modifiers;
  TextOffset at;
  AsTracepoint as_tracepoint = {};
  bool operator==(const ParsedEvent&) const = default;
};

/// Events as `perf stat -e` takes them. The modifiers after braces are applied to every event.
struct ParsedEvents {
  std::vector<ParsedEvent> events;  ///< at least one
  bool in_braces = false;           ///< "{a,b}": all of them, in one pair
  bool operator==(const ParsedEvents&) const = default;
};

/// What no machine could resolve.
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
/// Blanks may surround the commas and be inside of the braces. An event has the modifiers after the
/// braces and its own, as in perf: "{cycles:k,cs}:u" is "{cycles:uk,cs:u}". Only precision (p,
/// P) does it take from there if it has none itself. "word:rest" is an event with modifiers if
/// `rest` contains only their letters, and each once, else a tracepoint. Independent of a machine:
/// "cylces" is a NamedEvent. At most kMaxEventText characters, of printable ASCII.
Result<ParsedEvents, SyntaxError> parse_events(std::string_view text);

inline constexpr std::size_t kMaxEventText = 4096;

/// The canonical spelling: parse_events gives the same event for it. Aliases are not resolved, as
/// that requires the tables; numbers are hexadecimal, modifiers in the order of the struct.
std::string spelling(const ParsedEvent& event);

}  // namespace pex::events
