#include <algorithm>
#include <string>
#include <utility>

#include "events/event_kinds.h"
#include "events/modifier_letters.h"

// "cpu/event=0x3c,name=foo/u"

namespace pex::events {
namespace {

constexpr const char* kWriteOnce = "write it once";
constexpr const char* kWriteNumber = "write a number of at most 64 bits, for example 60 or 0x3c";
constexpr const char* kWriteGivenName = "write it as in 'cpu/event=0x3c,name=halted/'";

/// Terms that perf gives a meaning of its own that is not about counting.
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

bool is_term_character(char c) { return is_name_character(c) || c == '.'; }
bool is_pmu_character(char c) { return is_term_character(c) || is_one_of("*?[]", c); }

/// "=foo" of "name=foo", or "='a b'".
Parsed read_given_name(TextCursor& in, std::string& name) {
  if (!in.take("=")) return missing(in, "the value of 'name'", kWriteGivenName);
  const bool has_quotes = in.take("'");
  const TextCursor start = in;
  name = in.take_while(has_quotes ? [](char c) { return c != '\''; } : is_term_character);
  if (name.empty()) return missing(start, "a name", kWriteGivenName);
  if (has_quotes && !in.take("'")) return missing(in, "the closing quote", kWriteGivenName);
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
  for (const ForeignTerm& foreign : kForeignTerms) {
    if (name != foreign.name) continue;
    return mistake(at, "the term " + quoted(name) + " is about " + foreign.subject, foreign.remedy);
  }
  if (!has_term(event, name)) return {};
  return mistake(at, "the term " + quoted(name) + " stands twice", kWriteOnce);
}

Parsed read_term(TextCursor& in, PmuEvent& event) {
  const TextCursor start = in;
  const std::string_view name = in.take_while(is_term_character);
  if (Parsed checked = check_term(start, name, event); !checked) return checked;
  if (name == "name") return read_given_name(in, event.given_name);
  Term& term = event.terms.emplace_back(Term{std::string(name), {}, start.here()});
  return in.take("=") ? read_number(in, term.value.emplace(), kWriteNumber) : Parsed{};
}

/// With the '/' behind them.
Parsed read_terms(TextCursor& in, PmuEvent& event) {
  if (in.take("/")) return {};  // perf takes "cpu//" for config=0
  do {
    if (Parsed read = read_term(in, event); !read) return read;
  } while (in.take(","));
  return in.take("/") ? Parsed{} : no_term(in);
}

}  // namespace

Parsed read_pmu_event(TextCursor& in, ParsedEvent& event) {
  PmuEvent& pmu_event = event.kind.emplace<PmuEvent>();
  pmu_event.pmu = in.take_while(is_pmu_character);
  if (in.peek() != '/') return misplaced(in);
  if (pmu_event.pmu.empty()) return missing(in, "the name of a PMU", kWriteTerms);
  in.skip(1);
  if (Parsed read = read_terms(in, pmu_event); !read) return read;
  const bool has_modifiers = in.take(":") || !in.at_event_end();
  return has_modifiers ? read_letters(in, event.modifiers) : Parsed{};
}

}  // namespace pex::events
