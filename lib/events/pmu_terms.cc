#include "events/pmu_terms.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "events/event_names.h"
#include "events/pmu_sum.h"

namespace pex::events {
namespace {

using Words = std::array<std::uint64_t, kConfigWords.size()>;

std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// "r1a8" or "r0x1a8" alone: the whole of `config` of a core PMU, as outside of terms. Requires a
/// digit, as "read" is more likely an unknown event.
std::optional<std::uint64_t> raw_config(const Pmu& pmu, const Term& term) {
  const std::string_view name = term.name;
  if (pmu.kind != PmuKind::kCore || term.value || !name.starts_with('r')) return {};
  if (name.find_first_of("0123456789") == std::string_view::npos) return {};
  return parse_number(name.substr(name.starts_with("r0x") ? 3 : 1), 16);
}

Remedy known_by(const Pmu& pmu, const Term& term) {
  const std::string& word = term.name;
  if (word.find('.') != word.npos && pmu.kind != PmuKind::kOther) {
    return "write a name of the vendor without the PMU: '" + word + "'";
  }
  std::vector<std::string> formats;
  for (const auto& [name, format] : pmu.formats) formats.push_back(name);
  std::vector<std::string> known(kConfigWords.begin(), kConfigWords.end());
  known.insert(known.end(), formats.begin(), formats.end());
  for (const auto& [name, event] : pmu.events) known.push_back(name);
  const std::optional<std::string> meant = nearest(word, known);
  const bool may_be_event = !term.value && !pmu.events.empty();
  if (may_be_event && (!meant || !is_misspelled(word, {*meant}))) {
    return "see " + ProgramTerm::kEventList + "; " + kOfOtherCpus;
  }
  return did_you_mean(word, known,
                      formats.empty() ? "it accepts 'config'" : "its terms are " + join(formats));
}

bool is_event_of(const Pmu& pmu, const Term& term) {
  return !term.value && pmu.events.contains(term.name);
}

/// A named event of the PMU among the user's terms.
struct NamedAmong {
  const Pmu& pmu;
  const Term& event;
  const std::vector<Term>& given;

  std::string what() const { return "event '" + event.name + "' of PMU '" + pmu.name + "'"; }
};

bool is_given(const NamedAmong& named, const std::string& term) {
  return std::any_of(named.given.begin(), named.given.end(), [&](const Term& candidate) {
    return candidate.name == term && candidate.value;
  });
}

/// "term=text" in sysfs. The user must give the value of a text that is no number: '?', or a word.
struct WrittenTerm {
  std::string name;
  std::string_view text;  ///< empty: a flag
  std::optional<std::uint64_t> value = {};

  bool is_open() const { return !text.empty() && !value; }
};

/// The kernels of POWER write words: of the term that decides ("core"), or any other
/// ("sibling_guest_id"; arch/powerpc/perf/hv-24x7.c).
std::vector<WrittenTerm> written_terms(const NamedAmong& named) {
  std::vector<WrittenTerm> written;
  for (const std::string_view text : split(named.pmu.events.at(named.event.name).terms, ',')) {
    const std::size_t equals = std::min(text.find('='), text.size());
    WrittenTerm term{std::string(trim(text.substr(0, equals))), trim(text.substr(equals))};
    if (!term.text.empty()) term.text = trim(term.text.substr(1));
    const bool is_hexadecimal = term.text.starts_with("0x") || term.text.starts_with("0X");
    term.value =
        is_hexadecimal ? parse_number(term.text.substr(2), 16) : parse_number(term.text, 10);
    if (term.is_open() && named.pmu.formats.contains(std::string(term.text))) {
      term = {std::string(term.text), "?"};
    }
    written.push_back(std::move(term));
  }
  return written;
}

/// With the values that the user gives, and a place for each one that is missing.
Remedy give_values(const NamedAmong& named, const std::vector<WrittenTerm>& written) {
  std::string text = text_of(named.given);
  for (const WrittenTerm& term : written) {
    if (term.is_open() && !is_given(named, term.name)) text += "," + term.name + "=NUMBER";
  }
  return "write '" + std::string(family_of(named.pmu)) + "/" + text + "/'";
}

/// The terms of the event, except those for which the user gives a value.
Result<std::vector<Term>, Unresolved> terms_of(const NamedAmong& named) {
  const std::vector<WrittenTerm> written = written_terms(named);
  std::vector<Term> terms;
  for (const WrittenTerm& term : written) {
    if (is_given(named, term.name)) continue;
    if (term.is_open()) {
      const std::string why = term.text == "?"
                                  ? " leaves '" + term.name + "' for you to choose"
                                  : " has the value '" + std::string(term.text) + "' for '" +
                                        term.name + "', which is not a number";
      return unavailable(named.event.at, 0, named.what() + why, give_values(named, written));
    }
    terms.push_back(Term{term.name, term.value, named.event.at});
  }
  return terms;
}

Result<void, Unresolved> set_event(const NamedAmong& named, EncodedTerms& encoded) {
  const auto& [pmu, event, given] = named;
  if (encoded.named != nullptr) {  // the bits of both would select a third
    return unavailable(event.at, EINVAL,
                       "'" + event.name + "' is a second event; one event of a PMU at a time",
                       "write '" + pmu.name + "/" + encoded.name + "/' and '" + pmu.name + "/" +
                           event.name + "/'");
  }
  encoded.named = &pmu.events.at(event.name);
  encoded.name = event.name;
  if (encoded.named->scale == 0) {
    return unavailable(
        event.at, 0, named.what() + " has no number in its file .scale",
        "write '" + pmu.name + "/" + encoded.named->terms + "/' with a name, 'unit' and 'scale'");
  }
  if (!encoded.named->is_snapshot) return {};
  return unavailable(event.at, 0, named.what() + " is a level, not a count",
                     "remove it: only a count that never falls can be a counter");
}

/// With named events of the PMU replaced by their terms.
Result<std::vector<Term>, Unresolved> expanded(const Pmu& pmu, const std::vector<Term>& terms) {
  std::vector<Term> all;
  for (const Term& term : terms) {
    if (!is_event_of(pmu, term)) {
      all.push_back(term);
      continue;
    }
    Result<std::vector<Term>, Unresolved> inner = terms_of({pmu, term, terms});
    if (!inner) return inner.error();
    all.insert(all.end(), inner->begin(), inner->end());
  }
  return all;
}

/// True if the term set a whole word.
bool set_word(const Pmu& pmu, const Term& term, Words& words) {
  if (pmu.formats.contains(term.name)) return false;
  const auto word = std::find(kConfigWords.begin(), kConfigWords.end(), term.name);
  if (word != kConfigWords.end() && term.value) {
    words[static_cast<std::size_t>(word - kConfigWords.begin())] = *term.value;
    return true;
  }
  const std::optional<std::uint64_t> raw = raw_config(pmu, term);
  if (raw) words[0] = *raw;
  return raw.has_value();
}

Result<void, Unresolved> set_field(const Pmu& pmu, const Term& term, Words& words) {
  const std::string what = "PMU '" + pmu.name + "'";
  const auto found = pmu.formats.find(term.name);
  if (found == pmu.formats.end()) {
    return unavailable(term.at, ENOENT, what + " has no term '" + term.name + "'",
                       known_by(pmu, term));
  }
  const FormatField& field = found->second;
  const unsigned width = field.width();
  const std::uint64_t largest = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  if (!term.value && width > 1) {
    return unavailable(term.at, EINVAL, what + " has no event '" + term.name + "', only a term",
                       "write '" + term.name + "=NUMBER', " + hexadecimal(largest) + " at most");
  }
  const std::uint64_t value = term.value.value_or(1);
  if (value > largest) {
    return unavailable(term.at, EINVAL,
                       hexadecimal(value) + " is too large for '" + term.name + "' of " + what,
                       "the maximum is " + hexadecimal(largest));
  }
  words[field.word] |= field.spread(value);
  return {};
}

Result<Words, Unresolved> words_of(const Pmu& pmu, const std::vector<Term>& terms) {
  Words words{};
  std::vector<const Term*> fields;
  for (const Term& term : terms) {
    if (!set_word(pmu, term, words)) fields.push_back(&term);
  }
  for (const Term* term : fields) {
    if (const Result<void, Unresolved> set = set_field(pmu, *term, words); !set) return set.error();
  }
  return words;
}

}  // namespace

Result<EncodedTerms, Unresolved> encode_terms(const Pmu& pmu, const std::vector<Term>& terms) {
  EncodedTerms encoded;
  for (const Term& term : terms) {
    if (!is_event_of(pmu, term)) continue;
    if (const auto set = set_event({pmu, term, terms}, encoded); !set) return set.error();
  }
  const Result<std::vector<Term>, Unresolved> all = expanded(pmu, terms);
  if (!all) return all.error();
  const Result<Words, Unresolved> words = words_of(pmu, *all);
  if (!words) return words.error();
  encoded.attributes.type = pmu.type;
  encoded.attributes.config = (*words)[0];
  encoded.attributes.config1 = (*words)[1];
  encoded.attributes.config2 = (*words)[2];
  encoded.attributes.config3 = (*words)[3];
  return encoded;
}

const std::string* event_of(const Pmu& pmu, const perf::EventAttributes& attributes) {
  for (const auto& [name, event] : pmu.events) {
    const auto encoded = encode_terms(pmu, {Term{name, {}, {}}});
    if (encoded && encoded->attributes == attributes) return &name;
  }
  return nullptr;
}

std::vector<std::string> open_terms(const Pmu& pmu, const std::string& event) {
  std::vector<std::string> open;
  for (const WrittenTerm& term : written_terms({pmu, Term{event, {}, {}}, {}})) {
    if (term.is_open()) open.push_back(term.name);
  }
  return open;
}

void use_worth(const PmuNamedEvent& named, EventIdentity& identity) {
  const Worth worth = worth_of(named.unit, named.scale);
  identity.unit = worth.unit;
  identity.scale = worth.scale;
  if (!identity.metric.ends_with(worth.metric_ending)) identity.metric += worth.metric_ending;
}

void use_better_name(const Pmu& pmu, const std::string& event, EventIdentity& identity) {
  const BetterName* better = better_name(pmu.name, event);
  if (better == nullptr) return;
  identity.metric = better->metric;
  identity.help = better->help;
  identity.labels = {{std::string(better->label), std::string(better->value)}};
}

std::string text_of(const std::vector<Term>& terms) {
  std::string text;
  for (const Term& term : terms) {
    if (!text.empty()) text += ',';
    text += term.name;
    if (term.value) text += "=" + hexadecimal(*term.value);
  }
  return text;
}

}  // namespace pex::events
