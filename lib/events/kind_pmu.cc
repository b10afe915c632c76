#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "base/lookup.h"
#include "events/event_names.h"
#include "events/kinds.h"
#include "events/modifier_letters.h"
#include "events/pmu_sum.h"
#include "events/pmu_terms.h"

// "cpu/event=0x3c,name=foo/u": terms for the PMUs with a matching name.

namespace pex::events {
namespace pmu_event {
namespace {

constexpr const char* kWriteOnce = "write it once";
constexpr const char* kWriteNumber = "write a number of at most 64 bits, for example 60 or 0x3c";
constexpr const char* kWriteGivenName = "write it as in 'cpu/event=0x3c,name=halted/'";

/// Terms that perf interprets itself and that are not about counting.
struct ForeignTerm {
  std::string_view name;
  const char* subject;
  const char* remedy;
};
constexpr const char* kSampling = "sampling";
constexpr const char* kOutput = "what perf prints";
constexpr const char* kLeaveOut = "leave it out: events are counted here, and not sampled";
constexpr ForeignTerm kForeignTerms[] = {
    {"period", kSampling, kLeaveOut},
    {"freq", kSampling, kLeaveOut},
    {"time", kSampling, kLeaveOut},
    {"call-graph", kSampling, kLeaveOut},
    {"stack-size", kSampling, kLeaveOut},
    {"max-stack", kSampling, kLeaveOut},
    {"branch_type", kSampling, kLeaveOut},
    {"nr", kSampling, kLeaveOut},
    {"max-nr", kSampling, kLeaveOut},
    {"inherit", kSampling, kLeaveOut},
    {"no-inherit", kSampling, kLeaveOut},
    {"overwrite", kSampling, kLeaveOut},
    {"no-overwrite", kSampling, kLeaveOut},
    {"driver-config", kSampling, kLeaveOut},
    {"aux-output", kSampling, kLeaveOut},
    {"aux-action", kSampling, kLeaveOut},
    {"aux-sample-size", kSampling, kLeaveOut},
    {"percore", kOutput, "leave it out; 'aggregate: core' of the group adds the CPUs of a core up"},
    {"metric-id", kOutput, "leave it out; the term 'name' gives an event its name"},
};

/// For any other term.
bool recognizes(std::string_view, std::string_view behind) { return behind.starts_with('/'); }

bool is_term_character(char c) { return is_name_character(c) || c == '.'; }
bool is_pmu_character(char c) { return is_term_character(c) || is_one_of("*?[]", c); }

/// "=foo" of "name=foo", or "='a b'".
Parsed parse_given_name(TextCursor& in, std::string& name) {
  if (!in.take("=")) return missing(in, "the value of 'name'", kWriteGivenName);
  const bool has_quotes = in.take("'");
  const TextCursor start = in;
  name = in.take_while(has_quotes ? [](char c) { return c != '\''; } : is_term_character);
  if (name.empty()) return missing(start, "a name", kWriteGivenName);
  if (has_quotes && !in.take("'")) return missing(in, "the closing quote", kWriteGivenName);
  if (metric_word(name).empty()) {
    return syntax_error(start, "the name '" + name + "' has no letter or digit", kWriteGivenName);
  }
  return {};
}

SyntaxError no_term(const TextCursor& in) {
  if (in.at_end()) return missing(in, "the closing '/'", kWriteTerms);
  if (is_one_of("/,", in.peek())) return missing(in, "a term", kWriteTerms);
  return misplaced(in, kWriteTerms);
}

bool has_term(const PmuEvent& event, std::string_view name) {
  if (name == "name") return !event.given_name.empty();
  return std::any_of(event.terms.begin(), event.terms.end(),
                     [name](const Term& term) { return term.name == name; });
}

Parsed check_term(const TextCursor& at, std::string_view name, const PmuEvent& event) {
  if (name.empty()) return no_term(at);
  if (const ForeignTerm* foreign = lookup(kForeignTerms, &ForeignTerm::name, name)) {
    return syntax_error(at, "the term " + in_quotes(name) + " is about " + foreign->subject,
                        foreign->remedy);
  }
  if (!has_term(event, name)) return {};
  return syntax_error(at, "the term " + in_quotes(name) + " is repeated", kWriteOnce);
}

Parsed parse_term(TextCursor& in, PmuEvent& event) {
  const TextCursor start = in;
  const std::string_view name = in.take_while(is_term_character);
  if (Parsed checked = check_term(start, name, event); !checked) return checked;
  if (name == "name") return parse_given_name(in, event.given_name);
  Term& term = event.terms.emplace_back(Term{std::string(name), {}, start.here()});
  return in.take("=") ? parse_number(in, term.value.emplace(), kWriteNumber) : Parsed{};
}

/// With the '/' that ends them.
Parsed parse_terms(TextCursor& in, PmuEvent& event) {
  if (in.take("/")) return {};  // perf takes "cpu//" for config=0
  do {
    if (Parsed parsed = parse_term(in, event); !parsed) return parsed;
  } while (in.take(","));
  return in.take("/") ? Parsed{} : no_term(in);
}

Parsed parse(TextCursor& in, ParsedEvent& event) {
  PmuEvent& pmu_event = event.kind.emplace<PmuEvent>();
  pmu_event.pmu = in.take_while(is_pmu_character);
  if (in.peek() != '/') return misplaced(in);
  if (pmu_event.pmu.empty()) return missing(in, "the name of a PMU", kWriteTerms);
  in.skip(1);
  if (Parsed parsed = parse_terms(in, pmu_event); !parsed) return parsed;
  const bool has_modifiers = in.take(":") || !in.at_event_end();
  return has_modifiers ? parse_letters(in, event.modifiers) : Parsed{};
}

/// Quoted if it has characters that require it.
std::string quoted_name(const std::string& name) {
  return all_are(name, is_term_character) ? name : "'" + name + "'";
}

std::string spell(const ParsedEvent& event) {
  const auto& pmu_event = std::get<PmuEvent>(event.kind);
  std::string terms = text_of(pmu_event.terms);
  if (!pmu_event.given_name.empty()) {
    terms += (terms.empty() ? "" : ",") + ("name=" + quoted_name(pmu_event.given_name));
  }
  return pmu_event.pmu + "/" + terms + "/" + letters_of(event.modifiers);
}

/// The PMUs that an operator may have meant: not those built into every kernel.
std::set<std::string> names_of_hardware(const PmuCatalogue& pmus) {
  static constexpr std::string_view kOfTheKernel[] = {"breakpoint", "kprobe", "software",
                                                      "tracepoint", "uprobe"};
  std::set<std::string> names;
  for (const Pmu& pmu : pmus.pmus()) {
    if (std::find(std::begin(kOfTheKernel), std::end(kOfTheKernel), pmu.name) ==
        std::end(kOfTheKernel)) {
      names.emplace(without_number(pmu.name));
    }
  }
  return names;
}

Unresolved no_such_pmu(const PmuCatalogue& pmus, const std::string& pattern, TextOffset at) {
  const std::string what = "this machine has no PMU '" + pattern + "'";
  const std::set<std::string> names = names_of_hardware(pmus);
  std::string here;
  for (const std::string& name : names) {
    here += (here.empty() ? "; the PMUs here are " : ", ") + name;
  }
  if (std::optional<Remedy> known = how_to_get(pattern)) {
    return unavailable(at, ENOENT, what, *std::move(known) + here);
  }
  const std::string driver =
      pmus.pmus().empty()
          ? "use a kernel with CONFIG_PERF_EVENTS"
          : "load its driver, if the hardware has it and this is not a virtual machine";
  return unavailable(at, ENOENT, what,
                     did_you_mean(pattern, {names.begin(), names.end()}, driver + here));
}

Resolved resolve(const Machine& machine, const ParsedEvent& event) {
  const auto& pmu_event = std::get<PmuEvent>(event.kind);
  const std::vector<const Pmu*> pmus = machine.pmus.matching(pmu_event.pmu);
  if (pmus.empty()) return no_such_pmu(machine.pmus, pmu_event.pmu, event.at);
  for (const Pmu* const pmu : pmus) {
    // Its terms are addresses in the memory of this program, and places that nobody has checked.
    const bool is_uprobe = pmu->name == "uprobe";
    if (!is_uprobe && pmu->name != "kprobe") continue;
    return unavailable(event.at, 0, "terms of PMU '" + pmu->name + "' cannot be given",
                       "write '" + pmu->name + (is_uprobe ? ":FILE" : "") + ":FUNCTION'");
  }
  return resolve_on(machine, pmus, pmu_event, event.at);
}

/// "pmu/name/"; with a value for each term that it leaves open, "pmu/name,chip=0x0/".
std::string listed_name(const std::string& pmu, const std::string& name,
                        const std::vector<std::string>& open) {
  std::string text = pmu + "/" + name;
  for (const std::string& term : open) text += "," + term + "=0x0";
  return text + "/";
}

std::string listed_help(const PmuNamedEvent& event, bool leaves_values) {
  return "Short for " + event.terms + (event.unit.empty() ? "" : ", in " + event.unit) +
         (leaves_values ? "; replace 0x0 by your values." : ".");
}

/// True if one spelling means all PMUs of the family; otherwise their sum is refused.
bool all_of_family_have(const PmuCatalogue& pmus, std::string_view family, const std::string& name,
                        const PmuNamedEvent& event) {
  return std::all_of(pmus.pmus().begin(), pmus.pmus().end(), [&](const Pmu& pmu) {
    if (family_of(pmu) != family) return true;
    const auto own = pmu.events.find(name);
    return own != pmu.events.end() && own->second.unit == event.unit &&
           own->second.scale == event.scale;
  });
}

void list(const Machine& machine, std::vector<ListedEvent>& listed) {
  std::set<std::string> seen;
  for (const Pmu& pmu : machine.pmus.pmus()) {
    const std::string_view family = family_of(pmu);
    for (const auto& [name, event] : pmu.events) {
      const std::string who(all_of_family_have(machine.pmus, family, name, event) ? family
                                                                                  : pmu.name);
      const std::vector<std::string> open = open_terms(pmu, name);
      const std::string text = listed_name(who, name, open);
      if (event.is_snapshot || event.scale == 0 || !seen.insert(text).second) continue;
      listed.push_back({"pmu", text, who, listed_help(event, !open.empty()), false});
    }
  }
}

}  // namespace
}  // namespace pmu_event

constinit const Kind kPmuEvents{
    .holds = holds<PmuEvent>,
    .recognizes = pmu_event::recognizes,
    .parse = pmu_event::parse,
    .takes = any_modifiers,
    .spell = pmu_event::spell,
    .resolve = pmu_event::resolve,
    .list = pmu_event::list,
};

}  // namespace pex::events
