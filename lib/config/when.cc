#include "config/when.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "yaml/keys.h"
#include "yaml/plain_text.h"

namespace pex::config {
namespace {

constexpr std::size_t kMaxVendors = 16;
constexpr std::size_t kMaxLength = 64;
constexpr std::uint64_t kMaxCpus = 65'536;
constexpr std::uint64_t kMaxVersionPart = 65'535;

constexpr yaml::Expected kVendor = {"a vendor or a list of them",
                                    "write the label vendor of perf_machine_info, for example "
                                    "GenuineIntel or [GenuineIntel, AuthenticAMD]"};
constexpr yaml::Expected kCpuCount = {"a number of CPUs",
                                      "write the least number, for example 8, or a range such as "
                                      "8-64"};
constexpr yaml::Expected kPmu = {"a PMU", "write its name in sysfs, for example power"};
constexpr yaml::Expected kKernel = {"a version of Linux",
                                    "write the oldest one with the group, for example 5.13"};

/// A name of 1 to kMaxLength bytes.
std::optional<std::string> read_short(const yaml::Value& value, const yaml::Expected& expected) {
  std::optional<std::string> text = value.text(expected);
  if (!text) return {};
  if (!text->empty() && text->size() <= kMaxLength) return text;
  value.refuse(
      fmt::format("found a text of {} bytes where {} is expected", text->size(), expected.what),
      std::string(expected.remedy));
  return {};
}

void read_vendor(const yaml::Value& value, yaml::DuplicateKeys& duplicates, When& when) {
  std::optional<std::string> vendor = read_short(value, kVendor);
  if (vendor && duplicates.add(*vendor, value)) when.vendor.push_back(*std::move(vendor));
}

void read_vendors(const yaml::Value& value, When& when) {
  yaml::DuplicateKeys duplicates("remove one of the two");
  if (!value.is_list()) return read_vendor(value, duplicates, when);
  const auto items = value.items(kVendor);
  if (!items) return;
  if (items->empty() || items->size() > kMaxVendors) {
    return value.refuse(fmt::format("a list of {} vendors", items->size()),
                        fmt::format("list 1 to {}", kMaxVendors));
  }
  for (const yaml::Value& item : *items) read_vendor(item, duplicates, when);
}

/// "8" or "8-64".
std::optional<CpuCount> parse_cpu_count(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto min = parse_unsigned(text.substr(0, dash));
  const auto max = dash == text.npos ? kMaxCpus : parse_unsigned(text.substr(dash + 1));
  if (!min || !max || *min < 1 || *max < *min || kMaxCpus < *max) return {};
  return CpuCount{*min, *max};
}

void read_cpu_count(const yaml::Value& value, When& when) {
  const std::optional<std::string> text = value.text(kCpuCount);
  if (!text) return;
  when.cpus = parse_cpu_count(*text);
  if (when.cpus) return;
  value.refuse(yaml::in_quotes(*text) + " is not a number of CPUs", std::string(kCpuCount.remedy));
}

void read_kernel(const yaml::Value& value, When& when) {
  const std::optional<std::string> text = value.text(kKernel);
  if (!text) return;
  when.kernel = parse_version(*text);
  if (when.kernel) return;
  value.refuse(yaml::in_quotes(*text) + " is not a version of Linux", std::string(kKernel.remedy));
}

std::string form_of_vendors() { return fmt::format("text, or list of at most {}", kMaxVendors); }
std::string form_of_cpu_count() {
  return fmt::format("number, or range `8-64`; 1 to {}", kMaxCpus);
}

std::string any() { return "any"; }

constexpr yaml::Key<When> kWhenKeys[] = {
    {"vendor", read_vendors, {form_of_vendors, any}},
    {"cpus", read_cpu_count, {form_of_cpu_count, any}},
    {"virtual",
     [](const yaml::Value& value, When& when) {
       if (const std::optional<bool> is_virtual = read_flag(value)) when.is_virtual = *is_virtual;
     },
     {yaml::form_of_flag, any}},
    {"pmu",
     [](const yaml::Value& value, When& when) { when.pmu = read_short(value, kPmu); },
     {[] { return fmt::format("text of at most {} bytes", kMaxLength); }, any}},
    {"kernel", read_kernel, {[] { return std::string("version"); }, any}},
};

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  Version version{};
  if (parts.size() > version.size()) return {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<std::uint64_t> part = parse_unsigned(parts[i]);
    if (!part || *part > kMaxVersionPart) return {};
    version[i] = static_cast<int>(*part);
  }
  return version;
}

void read_when(const yaml::Value& value, When& when) {
  const std::size_t errors = value.error_count();
  read_map<When>(value, kWhenKeys, when);
  if (when == When{} && value.error_count() == errors) {
    value.refuse("no condition", "write one, for example {virtual: false}, or remove the key");
  }
}

void list_when_keys(const std::string& map, std::vector<yaml::KeyReference>& all) {
  list_keys<When>(kWhenKeys, map, all);
}

}  // namespace pex::config
