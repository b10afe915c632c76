#include "config/cpus.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include "yaml/keys.h"
#include "yaml/plain_text.h"

namespace pex::config {
namespace {

constexpr std::size_t kMaxEntries = 64;
constexpr std::string_view kSets[] = {kIsolatedCpus, kNohzFullCpus};
constexpr std::string_view kListLetters = "0123456789,-";

constexpr yaml::Expected kCpu = {"CPUs", "write isolated, nohz_full or a list such as \"2-5,8\""};
constexpr yaml::Expected kList = {"a list of CPUs",
                                  "write a list, for example [isolated, \"2-5\"]"};

bool is_set(std::string_view text) {
  return std::find(std::begin(kSets), std::end(kSets), text) != std::end(kSets);
}

void read_entry(const yaml::Value& value, yaml::DuplicateKeys& duplicates,
                std::vector<CpuEntry>& entries) {
  const std::optional<std::string> text = value.text(kCpu);
  if (!text) return;
  const bool is_list = !text->empty() && text->find_first_not_of(kListLetters) == text->npos;
  if (!is_list && !is_set(*text)) {
    return refuse_word(value, *text, "a list of CPUs", {std::begin(kSets), std::end(kSets)},
                       kCpu.remedy);
  }
  if (duplicates.add(*text, value)) entries.push_back({*text, value.at()});
}

void read_exclude(const yaml::Value& value, Cpus& cpus) {
  const auto items = value.items("lists of CPUs", kMaxEntries, kList);
  if (!items) return;
  yaml::DuplicateKeys duplicates("remove one of the two");
  for (const yaml::Value& item : *items) read_entry(item, duplicates, cpus.exclude);
}

constexpr yaml::Key<Cpus> kCpusKeys[] = {
    {"exclude",
     read_exclude,
     {[] {
        return yaml::form_of_list(kMaxEntries, "`isolated`, `nohz_full` and lists of CPU numbers");
      },
      [] { return yaml::written("[]"); }}},
};

}  // namespace

void read_cpus(const yaml::Value& value, Cpus& cpus) {
  cpus.at = value.at();
  read_map<Cpus>(value, kCpusKeys, cpus);
}

void list_cpus_keys(const std::string& map, std::vector<yaml::KeyReference>& all) {
  list_keys<Cpus>(kCpusKeys, map, all);
}

}  // namespace pex::config
