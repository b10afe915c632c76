#include "config/cgroup_sums.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "yaml/keys.h"
#include "yaml/numbers.h"
#include "yaml/plain_text.h"

namespace pex::config {
namespace {

using namespace std::chrono_literals;

constexpr yaml::NumberRange kSumCount = {1, 100'000};
constexpr yaml::DurationRange kIdle = {1min, 168h};
constexpr yaml::DurationRange kZeroFor = {0s, 1h};
constexpr std::size_t kMaxSums = 16;
constexpr std::size_t kMaxSumLabels = 8;
constexpr std::size_t kMaxSumName = 64;

/// A part of the names of metrics.
bool is_sum_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= kMaxSumName && kLetters.find(name.front()) != name.npos &&
         name.find_first_not_of(kAllowed) == name.npos;
}

void read_sum_name(const yaml::Value& value, CgroupSum& sum) {
  const std::optional<std::string> name =
      value.text({"the name of a sum", "write a name, for example workload"});
  if (!name) return;
  if (!is_sum_name(*name)) {
    return value.refuse(yaml::in_quotes(*name) + " is not the name of a sum",
                        "use 1 to 64 of a-z, 0-9 and '_', the first a letter");
  }
  sum.name = *name;
}

void read_sum_labels(const yaml::Value& value, CgroupSum& sum) {
  constexpr yaml::Expected kLabels = {"a list of labels",
                                      "write a list, for example [namespace, container]"};
  const auto items = value.items("labels", kMaxSumLabels, kLabels);
  if (!items) return;
  for (const yaml::Value& item : *items) {
    const std::optional<std::string> name =
        item.text({"a label's name", "write a name, for example namespace"});
    if (!name) continue;
    const bool is_known = std::any_of(sum.by.begin(), sum.by.end(),
                                      [&](const SumLabel& label) { return label.name == *name; });
    if (is_known) {
      item.refuse("label " + yaml::in_quotes(*name) + " is there twice", "remove one of them");
      continue;
    }
    sum.by.push_back({*name, item.at()});
  }
}

constexpr yaml::Key<CgroupSum> kSumKeys[] = {
    {"name",
     read_sum_name,
     {[] { return std::string("1 to 64 of `a-z`, `0-9` and `_`, the first a letter"); }},
     "the sum has no name",
     "add one, for example 'name: workload'"},
    {"by",
     read_sum_labels,
     {[] { return yaml::form_of_list(kMaxSumLabels, "labels"); }},
     "the sum has no labels",
     "add them, for example 'by: [namespace, container]', or 'by: []' for one sum of all cgroups"},
    yaml::number_key<&CgroupSum::max, kSumCount>("max"),
    yaml::duration_key<&CgroupSum::idle, kIdle>("idle"),
    yaml::duration_key<&CgroupSum::zero_for, kZeroFor>("zero_for"),
};

}  // namespace

void read_sums(const yaml::Value& value, std::vector<CgroupSum>& sums) {
  constexpr yaml::Expected kSums = {
      "a list of sums", "write a list, for example [{name: workload, by: [namespace, container]}]"};
  const auto items = value.items("sums", kMaxSums, kSums);
  if (!items) return;
  for (const yaml::Value& item : *items) {
    CgroupSum sum;
    sum.at = item.at();
    const bool is_whole = item.is_read_whole([&] { read_map<CgroupSum>(item, kSumKeys, sum); });
    if (is_whole) sums.push_back(std::move(sum));
  }
}

std::string form_of_sums() { return yaml::form_of_list(kMaxSums, "maps"); }

void list_sum_keys(const std::string& list, std::vector<yaml::KeyReference>& all) {
  list_keys<CgroupSum>(kSumKeys, list + "[]", all);
}

}  // namespace pex::config
