#include "exposition/process_metrics.h"

#include "exposition/collected_family.h"
#include "exposition/self_families.h"

namespace pex::exposition {

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  const std::optional<host::SelfProcess> process = read_();
  if (!process) return families;
  const auto add = [&](const FamilyEntry& family, double value) {
    families.push_back(collected(family, value));
  };
  add(self_family("process_cpu_seconds_total"), process->cpu_seconds);
  add(self_family("process_start_time_seconds"), seconds_since_epoch(process->started));
  if (process->open_fds) {
    add(self_family("process_open_fds"), static_cast<double>(*process->open_fds));
  }
  add(self_family("process_max_fds"), static_cast<double>(process->max_fds));
  add(self_family("process_resident_memory_bytes"), static_cast<double>(process->resident_bytes));
  return families;
}

}  // namespace pex::exposition
