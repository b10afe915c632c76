#include "events/vendor_events.h"

#include <cerrno>

#if PEX_WITH_LIBPFM

#include <perfmon/pfmlib_perf_event.h>

#include <set>

#include "base/lookup.h"
#include "base/text.h"
#include "events/event_names.h"
#include "events/resolution.h"

namespace pex::events {
namespace {

/// Every mode: the exclude_* flags select the modes.
constexpr int kEveryMode = PFM_PLM0 | PFM_PLM3 | PFM_PLMH;

/// Initializes libpfm4, which detects the CPU at the first call.
pfm_err_t detect_cpu() {
  static const pfm_err_t outcome = ::pfm_initialize();
  return outcome;
}

template <typename Info>
Info sized() {
  Info info{};
  info.size = sizeof info;
  return info;
}

/// The PMUs of this CPU. Without the generic events of Linux, which libpfm4 has as PMUs as well:
/// the tables of event_table.h have them under the names of `perf list`.
std::vector<pfm_pmu_info_t> pmus_of_this_cpu() {
  std::vector<pfm_pmu_info_t> pmus;
  if (detect_cpu() != PFM_SUCCESS) return pmus;
  for (int number = PFM_PMU_NONE; number < PFM_PMU_MAX; ++number) {
    auto pmu = sized<pfm_pmu_info_t>();
    if (::pfm_get_pmu_info(static_cast<pfm_pmu_t>(number), &pmu) != PFM_SUCCESS) continue;
    if (pmu.is_present && pmu.type != PFM_PMU_TYPE_OS_GENERIC) pmus.push_back(pmu);
  }
  return pmus;
}

/// One sentence with its full stop, from a description in libpfm4's tables.
std::string sentence(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t' || c == '\\') c = ' ';
  }
  text = trim(text);
  return text.ends_with('.') ? text : text + ".";
}

std::string help_of(const std::string& name, int event) {
  auto info = sized<pfm_event_info_t>();
  if (::pfm_get_event_info(event, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS) return sentence(name);
  return sentence("Event " + name + ": " + info.desc);
}

/// `text` is "pmu::name". Returns only the identity of the event.
pfm_err_t encode(const std::string& text, VendorEncoding& encoding) {
  perf_event_attr attr{};
  auto request = sized<pfm_perf_encode_arg_t>();
  request.attr = &attr;
  const pfm_err_t outcome =
      ::pfm_get_os_event_encoding(text.c_str(), kEveryMode, PFM_OS_PERF_EVENT, &request);
  if (outcome != PFM_SUCCESS) return outcome;

  const std::size_t colons = text.find("::");
  encoding.pmu = text.substr(0, colons);
  encoding.attributes.type = attr.type;
  encoding.attributes.config = attr.config;
  encoding.attributes.config1 = attr.config1;
  encoding.attributes.config2 = attr.config2;
  encoding.help = help_of(text.substr(colons + 2), request.idx);
  return PFM_SUCCESS;
}

/// The PMUs to search, one at a time: libpfm4 itself stops at the first match, and so would count
/// one memory channel of six.
std::vector<std::string> questions(const std::string& name) {
  if (name.find("::") != std::string::npos) return {name};
  std::vector<std::string> texts;
  for (const pfm_pmu_info_t& pmu : pmus_of_this_cpu()) {
    texts.push_back(std::string(pmu.name) + "::" + name);
  }
  return texts;
}

Error unknown(const std::string& name, pfm_err_t outcome) {
  const std::vector<VendorName> known = list_vendor_events();
  const std::size_t colons = name.find("::");
  const std::string word = name.substr(colons == std::string::npos ? 0 : colons + 2);
  const VendorName* same = lookup(known, &VendorName::name, word);
  if (outcome == PFM_ERR_NOTSUPP && same != nullptr) {
    return Error{ENOENT,
                 "the kernel has no PMU for '" + name + "' of libpfm4's PMU '" + same->pmu + "'",
                 how_to_get(same->pmu).value_or("see " + ProgramTerm::kEventList)};
  }
  std::vector<std::string> names;
  for (const VendorName& other : known) names.push_back(other.name);
  return Error{ENOENT,
               "libpfm4 finds no '" + name + "' on this CPU (" + ::pfm_strerror(outcome) + ")",
               did_you_mean(word, names, "see " + ProgramTerm::kEventList)};
}

/// One name for each unit mask, or the event alone if it has none.
void list_event(const pfm_pmu_info_t& pmu, int event, std::vector<VendorName>& names) {
  auto info = sized<pfm_event_info_t>();
  if (::pfm_get_event_info(event, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS) return;
  const std::string name = info.name;
  const std::string description = info.desc;
  bool has_mask = false;
  for (int number = 0; number < info.nattrs; ++number) {
    auto mask = sized<pfm_event_attr_info_t>();
    if (::pfm_get_event_attr_info(event, number, PFM_OS_PERF_EVENT, &mask) != PFM_SUCCESS) continue;
    if (mask.type != PFM_ATTR_UMASK) continue;
    has_mask = true;
    names.push_back({name + ":" + mask.name, pmu.name, sentence(description + ": " + mask.desc)});
  }
  if (!has_mask) names.push_back({name, pmu.name, sentence(description)});
}

}  // namespace

Result<std::vector<VendorEncoding>> encode_vendor_event(const std::string& name) {
  if (const pfm_err_t outcome = detect_cpu(); outcome != PFM_SUCCESS) {
    return Error{ENOTSUP, std::string("start libpfm4: ") + ::pfm_strerror(outcome), {}};
  }
  std::vector<VendorEncoding> encodings;
  pfm_err_t why_none = PFM_ERR_NOTFOUND;
  for (const std::string& question : questions(name)) {
    VendorEncoding encoding;
    const pfm_err_t outcome = encode(question, encoding);
    if (outcome == PFM_SUCCESS) {
      encodings.push_back(std::move(encoding));
    } else if (outcome != PFM_ERR_NOTFOUND) {
      why_none = outcome;  // an unknown mask of a known event is the better error
    }
  }
  if (encodings.empty()) return unknown(name, why_none);
  return encodings;
}

std::vector<VendorName> list_vendor_events() {
  std::vector<VendorName> all;
  for (const pfm_pmu_info_t& pmu : pmus_of_this_cpu()) {
    for (int event = pmu.first_event; event != -1; event = ::pfm_get_event_next(event)) {
      list_event(pmu, event, all);
    }
  }
  std::set<std::string> seen;
  std::erase_if(all, [&](const VendorName& name) { return !seen.insert(name.name).second; });
  return all;
}

}  // namespace pex::events

#else

namespace pex::events {

Result<std::vector<VendorEncoding>> encode_vendor_event(const std::string& name) {
  return Error{ENOTSUP, "'" + name + "': this program was built without libpfm4",
               "write the event's number, as in 'cpu/event=0x3c,umask=0x1/'"};
}

std::vector<VendorName> list_vendor_events() { return {}; }

}  // namespace pex::events

#endif
