#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "base/lookup.h"
#include "base/unique_fd.h"
#include "elf/symbol_offset.h"
#include "events/event_names.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"
#include "host/self_process.h"
#include "host/trusted_path.h"

// "kprobe:do_exit", "uprobe:/usr/bin/bash:readline+0x10": a location in the code of the kernel or
// of a file.

namespace pex::events {
namespace probe {
namespace {

constexpr const char* kWriteKernelProbe =
    "write the name of a function in the kernel, as in 'kprobe:do_sys_openat2'";
constexpr const char* kWriteUserProbe =
    "write an absolute path, and a function or an offset in that file, as in "
    "'uprobe:/usr/bin/bash:readline' or 'uprobe:/usr/bin/bash:0x1234'";
constexpr const char* kWriteEntryProbe =
    "leave the offset out, or count the instruction there with 'kprobe:' or 'uprobe:'";
constexpr const char* kWriteNoModifiers = "leave out ':' and the rest";

struct WordEntry {
  std::string_view word;
  bool in_kernel;
  bool at_return;
  std::string_view pmu;
  std::string_view option;  ///< of the kernel's configuration
};
constexpr WordEntry kWords[] = {{"kprobe", true, false, "kprobe", "CONFIG_KPROBE_EVENTS"},
                                {"kretprobe", true, true, "kprobe", "CONFIG_KPROBE_EVENTS"},
                                {"uprobe", false, false, "uprobe", "CONFIG_UPROBE_EVENTS"},
                                {"uretprobe", false, true, "uprobe", "CONFIG_UPROBE_EVENTS"}};

const WordEntry& entry_of(const Probe& probe) {
  const auto is_of_it = [&](const WordEntry& entry) {
    return entry.in_kernel == probe.in_kernel && entry.at_return == probe.at_return;
  };
  return *lookup(kWords, is_of_it, true);
}

/// "kprobe/retprobe=1/" is an event of the PMU.
bool recognizes(std::string_view word, std::string_view behind) {
  return lookup(kWords, &WordEntry::word, word) != nullptr && !behind.starts_with('/');
}

const char* how_to_write(const Probe& probe) {
  return probe.in_kernel ? kWriteKernelProbe : kWriteUserProbe;
}

/// Compilers put '.' and '$' into names of functions, symbol versions contain '@', Go methods the
/// rest.
bool is_symbol_character(char c) {
  return is_letter_or_digit(c) || c == '_' || is_one_of(".$@()*[]", c);
}

/// "/bin/a:main:u", which would otherwise be the function u of a file "/bin/a:main".
bool has_modifiers(std::string_view file, std::string_view place) {
  const std::size_t colon = file.rfind(':');
  return !place.empty() && all_are(place, is_modifier) && colon != std::string_view::npos &&
         file.find('/', colon) == std::string_view::npos;
}

SyntaxError probe_has_modifiers(const TextCursor& in) {
  return syntax_error(in, "a probe takes no modifiers", kWriteNoModifiers);
}

/// With the ':' that ends it.
Parsed parse_file(TextCursor& in, std::string& file) {
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

Parsed parse_offset(TextCursor& in, Probe& probe) {
  const TextCursor start = in;
  if (Parsed number = parse_number(in, probe.offset, how_to_write(probe)); !number) return number;
  const bool is_behind_entry = !probe.symbol.empty() && probe.offset != 0;
  if (!probe.at_return || !is_behind_entry) return {};
  return syntax_error(start, "a probe of a function's return takes no offset", kWriteEntryProbe);
}

Parsed parse_place(TextCursor& in, Probe& probe) {
  if (is_digit(in.peek()) && !probe.in_kernel) return parse_offset(in, probe);
  if (is_digit(in.peek()) || !is_symbol_character(in.peek())) {
    return missing(in, "the name of a function", how_to_write(probe));
  }
  probe.symbol = in.take_while(is_symbol_character);
  return in.take("+") ? parse_offset(in, probe) : Parsed{};
}

Parsed parse(TextCursor& in, ParsedEvent& event) {
  const WordEntry& entry = *lookup(kWords, &WordEntry::word, in.before(kWordEnds));
  Probe& probe = event.kind.emplace<Probe>(Probe{entry.in_kernel, entry.at_return, {}, {}, 0});
  in.take(entry.word);
  if (!in.take(":")) return missing(in, "':' with a function", how_to_write(probe));
  Parsed file = probe.in_kernel ? Parsed{} : parse_file(in, probe.file);
  if (!file) return file;
  if (Parsed place = parse_place(in, probe); !place) return place;
  return in.peek() == ':' ? probe_has_modifiers(in) : Parsed{};
}

/// "do_exit+0x10", "0x1234"
std::string place_of(const Probe& probe) {
  if (probe.symbol.empty()) return hexadecimal(probe.offset);
  return probe.symbol + (probe.offset != 0 ? "+" + hexadecimal(probe.offset) : "");
}

std::string spell(const ParsedEvent& event) {
  const auto& probe = std::get<Probe>(event.kind);
  const std::string file = probe.in_kernel ? "" : probe.file + ":";
  return std::string(entry_of(probe).word) + ":" + file + place_of(probe);
}

/// Type and the bit for a return, which the kernel chooses.
Result<perf::EventAttributes, Unresolved> attributes_of(const Machine& machine, const Probe& probe,
                                                        TextOffset at) {
  const WordEntry& entry = entry_of(probe);
  const std::string name(entry.pmu);
  const Pmu* pmu = machine.pmus.find(name);
  if (pmu == nullptr) {
    return unavailable(at, ENOENT, "this machine has no PMU '" + name + "'",
                       "use a kernel that is built with " + std::string(entry.option));
  }
  perf::EventAttributes attributes;
  attributes.type = pmu->type;
  if (!probe.at_return) return attributes;
  const auto format = pmu->formats.find("retprobe");
  if (format == pmu->formats.end() || format->second.word != 0) {
    return unavailable(at, ENOENT,
                       "the PMU '" + name + "' of this machine does not support returns", {});
  }
  attributes.config = format->second.spread(1);
  return attributes;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string help_of(const Probe& probe) {
  const std::string place = place_of(probe) + (probe.in_kernel ? "" : " in " + probe.file);
  return (probe.at_return ? "Returns from " : "Hits of ") + place + ".";
}

/// The file that the path names now, and no other that is put in its place: read by its descriptor,
/// and given to the kernel by it. Needs no right to read it, as a probe at an offset does not.
Result<std::shared_ptr<const UniqueFd>> hold(const std::string& path) {
  UniqueFd file{::open(path.c_str(), O_PATH | O_CLOEXEC)};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return Error{errno, "open '" + path + "'", {}};
  if (S_ISREG(status.st_mode)) return std::make_shared<const UniqueFd>(std::move(file));
  return Error{S_ISDIR(status.st_mode) ? EISDIR : EINVAL,
               "probe '" + path + "', which is not a regular file",
               "name a program or a shared library"};
}

/// With the path as it was configured.
Error with_path(Error error, const std::string& held, const std::string& path) {
  const std::size_t at = error.attempted.find(held);
  if (at != std::string::npos) error.attempted.replace(at, held.size(), path);
  return error;
}

/// Where others can put any file in its place, or chose it, an offset could be in the middle of an
/// instruction of a program of root, which a breakpoint there would change.
Result<> check_place(const Probe& probe, const std::string& held, std::uint64_t offset) {
  const bool is_begin_of_function = !probe.symbol.empty() && probe.offset == 0;
  const bool is_chosen_by_others = host::has_rights_by_its_file();
  if (is_begin_of_function) return {};
  if (!is_chosen_by_others && host::is_trusted_path(probe.file)) return {};
  const Result<bool> is_function = elf::begins_function(held, offset);
  if (is_function && *is_function) return {};
  const std::string remedy =
      is_chosen_by_others ? "run it as root" : "give the file and its directories to root";
  return Error{
      is_function ? EACCES : is_function.error().code,
      "probe '" + probe.file + "' at " + hexadecimal(offset) +
          (is_function ? ": no function begins there" : ": its functions cannot be read") +
          (is_chosen_by_others ? ", and this program has a capability by its file"
                               : ", and other users can change the file, or a directory above it"),
      (is_function ? "name a function, or " : "") + remedy};
}

/// The place in the file, and the file.
Result<> find_place(const Probe& probe, perf::EventAttributes& attributes) {
  Result<std::shared_ptr<const UniqueFd>> file = hold(probe.file);
  if (!file) return file.error();
  attributes.file = std::move(*file);
  attributes.probe = host::path_of_open_file(attributes.file->get());
  if (!probe.symbol.empty()) {
    const Result<std::uint64_t> begin = elf::symbol_offset(attributes.probe, probe.symbol);
    if (!begin) return with_path(begin.error(), attributes.probe, probe.file);
    attributes.config2 += *begin;
  }
  return check_place(probe, attributes.probe, attributes.config2);
}

Resolved resolve(const Machine& machine, const ParsedEvent& event) {
  const auto& probe = std::get<Probe>(event.kind);
  Result<perf::EventAttributes, Unresolved> attributes = attributes_of(machine, probe, event.at);
  if (!attributes) return attributes.error();
  attributes->probe = probe.symbol;
  attributes->config2 = probe.offset;
  if (!probe.in_kernel) {
    const Result<> found = find_place(probe, *attributes);
    if (!found) return Unresolved{false, event.at, found.error()};
  }
  const std::string file = probe.in_kernel ? "" : file_name(probe.file) + "_";
  const std::string metric = std::string(entry_of(probe).word) + "_" + file + place_of(probe);
  return counted_by_kernel(metric_word(metric), help_of(probe), *attributes);
}

}  // namespace
}  // namespace probe

constinit const Kind kProbes{
    .holds = holds<Probe>,
    .recognizes = probe::recognizes,
    .parse = probe::parse,
    .takes = no_modifiers,
    .spell = probe::spell,
    .resolve = probe::resolve,
};

}  // namespace pex::events
