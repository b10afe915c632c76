#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/sizes.h"
#include "plan/load_plan.h"
#include "targets/budget.h"

namespace pex::daemon {
namespace {

constexpr double kMiB = 1024 * 1024;

constexpr std::size_t kWhatColumn = 30;
constexpr std::size_t kNumberColumn = 16;

template <typename Text>
void print_row(const char* subject, const std::vector<Size>& sizes, Text text,
               const std::string& note) {
  std::string line = column(subject, kWhatColumn);
  for (const Size& size : sizes) line += column(text(size), kNumberColumn);
  std::cout << line << note << '\n';
}

std::string limit(const char* key, std::size_t value) {
  return std::string(key) + ": " + std::to_string(value);
}

void print_table(const std::vector<Size>& sizes, const collect::Budget& budget) {
  const auto number = [](std::size_t Size::*of) {
    return [of](const Size& size) { return std::to_string(size.*of); };
  };
  const auto memory = [](std::size_t Size::*of) {
    return [of](const Size& size) {
      return with_decimals(static_cast<double>(size.*of) / kMiB, 1) + " MiB";
    };
  };
  print_row(
      "", sizes, [](const Size& size) { return std::string(size.way); }, "");
  print_row("counters", sizes, number(&Size::counters),
            limit("limits.max_open_events", budget.max_open_events));
  print_row("open files", sizes, number(&Size::files), "LimitNOFILE= of the service");
  print_row("series, at most", sizes, number(&Size::series),
            limit("limits.max_series", budget.max_series));
  print_row("memory, of the exporter", sizes, memory(&Size::memory),
            "in addition to that of the process without them");
  print_row(
      "memory to request", sizes,
      [](const Size& size) { return std::to_string(size.mebibytes_to_request()) + " MiB"; },
      "requests.memory of a pod; set limits.memory higher, for peaks");
  print_row(
      "CPU time to request", sizes,
      [](const Size& size) { return std::to_string(size.millicores_to_request()) + "m"; },
      "requests.cpu of a pod; set no limits.cpu");
  print_row("memory, of the kernel", sizes, memory(&Size::kernel_memory), "in addition");
  print_row("locked memory", sizes, memory(&Size::buffers),
            "kernel.perf_event_mlock_kb of each CPU; beyond it LimitMEMLOCK=");
}

std::set<std::string> uncore_pmus(const collect::CountingPlan& plan) {
  std::set<std::string> pmus;
  for (const collect::PublishedEvent& column : plan.cpu.columns) {
    if (!column.event.is_uncore) continue;
    for (const collect::EventAt& part : column.parts) pmus.insert(plan.cpu.groups[part.group].pmu);
  }
  return pmus;
}

Error too_many(std::size_t cgroups, std::size_t max) {
  return Error{0,
               "cgroups.max is " + std::to_string(max) + ": " + std::to_string(cgroups - max) +
                   " of " + std::to_string(cgroups) + " cgroups would be left out",
               "set cgroups.max to " + std::to_string(cgroups)};
}

/// The configuration refuses more than config::Limits::kMax.
Remedy set_limit(const char* key, std::size_t needed) {
  if (needed <= config::Limits::kMax)
    return std::string("set ") + key + " to " + std::to_string(needed);
  return "count fewer events or cgroups: " + std::string(key) + " is at most " +
         std::to_string(config::Limits::kMax);
}

/// A limit, and what the counting takes of it.
struct Limited {
  const char* what;
  const char* cpus;  ///< what takes it without any cgroup
  std::size_t Size::*needed;
  std::size_t max;
  const char* key;
};

/// What does not fit; empty if all of it does. `alone` is the size without cgroups. A start fails
/// if that does not fit, in the way of counting that it checks.
std::vector<Error> excess_of(const Size& size, const Size& alone, bool is_checked_at_start,
                             std::size_t cgroups, const collect::Budget& budget) {
  const Limited rows[] = {
      {"counters", "the groups of scope cpu", &Size::counters, budget.max_open_events,
       "limits.max_open_events"},
      {"series", "the groups of scope cpu and the sums", &Size::series, budget.max_series,
       "limits.max_series"},
  };
  std::vector<Error> excess;
  for (const Limited& row : rows) {
    const std::size_t needed = size.*row.needed;
    if (needed <= row.max) continue;
    const std::size_t of_cpus = alone.*row.needed;
    const bool are_cgroups = of_cpus <= row.max;
    const std::string takes =
        are_cgroups ? number_of(cgroups, "cgroup") + (cgroups == 1 ? " takes " : " take ") +
                          std::to_string(needed)
                    : row.cpus + std::string(" take ") + std::to_string(of_cpus);
    const char* const effect = are_cgroups           ? ": some of them would be left out"
                               : is_checked_at_start ? ": the exporter does not start"
                                                     : "";
    excess.push_back({0,
                      std::string(size.way) + ", " + takes + " " + row.what + ", and " + row.key +
                          " is " + std::to_string(row.max) + effect,
                      set_limit(row.key, needed)});
  }
  return excess;
}

}  // namespace

ExitStatus print_size(const Options& options, perf::PerfKernel& kernel) {
  const Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned = plan::load_and_plan(
      options.config_file, options.roots, kernel, nullptr, options.unknown_keys);
  if (!planned) {
    print_errors(yaml::errors_of(planned.error()));
    return kFailed;
  }
  const collect::CountingPlan& plan = planned->plan.counting;
  const collect::Budget& budget = planned->plan.budget;
  const std::size_t cpus = options.size_cpus != 0
                               ? options.size_cpus
                               : planned->cpus->online.size() + planned->cpus->left_out.size();
  const std::size_t cgroups =
      plan.cgroup.empty() ? 0 : options.size_cgroups.value_or(budget.max_cgroups);
  const collect::MachineCpus machine =
      collect::resized(*planned->cpus, cpus, plan.left_out_cpus, uncore_pmus(plan));
  const std::vector<Size> sizes = sizes_of(*planned, machine, cgroups);

  std::cout << "configuration: " << printable(name_of_config(options)) << "\nfor " << cpus
            << " CPUs, with the PMUs of this machine, and " << cgroups << " cgroups:\n\n";
  print_table(sizes, budget);
  const bool are_allowed = cgroups <= budget.max_cgroups;
  if (!are_allowed) {
    std::cout << '\n' << printable(worded(too_many(cgroups, budget.max_cgroups))) << '\n';
  }
  bool any_fits = false;
  const std::vector<Size> alone = sizes_of(*planned, machine, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // A start checks the first way: that by records only if it is the only one.
    const std::vector<Error> excess = excess_of(sizes[i], alone[i], i == 0, cgroups, budget);
    any_fits = any_fits || excess.empty();
    for (const Error& error : excess) std::cout << '\n' << printable(worded(error)) << '\n';
  }
  return flush_output() && are_allowed && any_fits ? kOk : kFailed;
}

}  // namespace pex::daemon
