#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/sysctls.h"
#include "base/text.h"
#include "daemon/doctor/checks.h"

// What the kernel allows those who sample, and read counters themselves.

namespace pex::daemon {
namespace {

using State = Finding::State;

std::string subject_of(const perf::SysctlEntry& entry) {
  return entry.unit.empty() ? "user access" : "sampling";
}

/// A value that has words: of a switch, or one that costs something.
Finding sampling_finding(const perf::SysctlEntry& entry, std::int64_t value,
                         const perf::SysctlRange& range) {
  const bool is_good = range.consequence.empty();
  return {is_good ? State::kGood : State::kNote, subject_of(entry),
          std::string(entry.name) + "=" + std::to_string(value) + ": " + std::string(range.words),
          std::string(range.consequence), std::string(range.remedy)};
}

/// What samples are limited to.
class Limits {
 public:
  void add(const perf::SysctlEntry& entry, std::int64_t value) {
    const bool is_of_call_chains = entry.name.ends_with("_stack");
    if (is_of_call_chains) {
      const std::string_view one = entry.unit.substr(0, entry.unit.size() - 1);  // of "frames"
      call_chains_.push_back(value == 1 ? "1 " + std::string(one) : amount(entry, value));
    } else {
      others_.push_back(amount(entry, value));
    }
  }

  Finding finding() const {
    std::vector<std::string> all = others_;
    if (!call_chains_.empty()) all.push_back("call chains of " + join(call_chains_, " and "));
    return all.empty() ? unknown("sampling", "limits not known: this kernel shows none")
                       : good("sampling", "at most " + join(all));
  }

 private:
  static std::string amount(const perf::SysctlEntry& entry, std::int64_t value) {
    return std::to_string(value) + " " + std::string(entry.unit);
  }

  std::vector<std::string> others_;
  std::vector<std::string> call_chains_;
};

}  // namespace

Findings check_sampling(const CheckInputs& here) {
  Findings findings;
  Limits limits;
  for (const perf::SysctlEntry& entry : perf::sysctls()) {
    if (entry.name == perf::kParanoidSetting) continue;  // check_paranoid
    const Result<std::int64_t> value = perf::read_sysctl(entry, here.options.roots);
    if (!value) {
      const bool is_absent = value.error().code == ENOENT;  // not of this kernel or architecture
      if (!is_absent) findings.push_back(unknown(subject_of(entry), could_not(value.error())));
      continue;
    }
    const perf::SysctlRange* range = entry.range_of(*value);
    if (!entry.unit.empty() && !(range && range->is_unlimited)) limits.add(entry, *value);
    if (range) findings.push_back(sampling_finding(entry, *value, *range));
  }
  findings.insert(findings.begin(), limits.finding());
  return findings;
}

}  // namespace pex::daemon
