#pragma once

#include <vector>

#include "perf/perf_kernel.h"
#include "perf/truth_check.h"
#include "plan/event_selector.h"
#include "plan/machine.h"

namespace pex::plan {

using Checked = std::vector<perf::CheckedEvents>;

/// The events of `selected` whose counts are known for known work, with verdicts. What is not found
/// out is as in `before`.
Checked check_events(const SelectedEvents& selected, const Machine& machine, const Checked& before);

/// Whether other events of `checked` lie now.
bool have_lies_changed(perf::PerfKernel& kernel, Checked checked);

bool has_lies(const Checked& checked);

/// Lying events are unavailable, like those that the kernel refuses.
void leave_out_lies(const Checked& checked, SelectedEvents& selected);

}  // namespace pex::plan
