#include <string>
#include <string_view>

#include "base/result.h"
#include "markdown.h"
#include "perf/abi.h"
#include "perf/control_page.h"
#include "perf/counter_control.h"
#include "perf/event_control.h"
#include "perf/open_flags.h"
#include "perf/open_remedy.h"
#include "perf/record/branch_stack.h"
#include "perf/record/callchain.h"
#include "perf/record/data_source.h"
#include "perf/record/read_format.h"
#include "perf/record/record.h"
#include "perf/record/record_values.h"
#include "perf/record/sample_layout.h"
#include "perf/sampling_table.h"
#include "perf/sysctls.h"
#include "sections.h"

namespace pex::docs {
namespace {

const perf::AbiEntry& entry_of(const perf::AbiEntry& entry) { return entry; }
template <typename Entry>
const perf::AbiEntry& entry_of(const Entry& entry) {
  return entry.abi;
}

/// What is not used has its reason in place of the test.
std::string shown_by(const perf::AbiEntry& entry) {
  if (!entry.not_used.empty()) return "not used: " + std::string(entry.not_used);
  return code(entry.test);
}

template <typename Entries>
std::string abi_table(const Entries& entries) {
  std::string text = table_head({"name", "since Linux", "meaning", "header", "test"});
  for (const auto& each : entries) {
    const perf::AbiEntry& entry = entry_of(each);
    text += table_row(
        {code(entry.name), entry.since, entry.meaning, code(entry.where), shown_by(entry)});
  }
  return text;
}

}  // namespace

std::string abi_attr_sizes() { return abi_table(perf::attr_sizes()); }
std::string abi_attr_fields() { return abi_table(perf::attr_fields()); }
std::string abi_open_flags() { return abi_table(perf::open_flags()); }
std::string abi_read_formats() { return abi_table(perf::read_formats()); }
std::string abi_sample_fields() { return abi_table(perf::sample_fields()); }
std::string abi_branch_options() { return abi_table(perf::branch_options()); }
std::string abi_callchain_contexts() { return abi_table(perf::callchain_contexts()); }
std::string abi_data_source() {
  return abi_table(perf::data_source_fields()) + "\n" + abi_table(perf::data_source_values());
}
std::string abi_records() { return abi_table(perf::record_types()); }
std::string abi_record_misc() { return abi_table(perf::record_misc_entries()); }
std::string abi_record_values() { return abi_table(perf::record_values()); }
std::string abi_ioctls() { return abi_table(perf::event_controls()); }
std::string abi_task_controls() { return abi_table(perf::task_controls()); }
std::string abi_overflow_reports() { return abi_table(perf::overflow_reports()); }
std::string abi_page_fields() { return abi_table(perf::control_page_fields()); }
std::string abi_sysctls() { return abi_table(perf::sysctls()); }

std::string abi_errors() {
  std::string text = table_head({"error", "of", "cause"});
  for (const perf::OpenRemedy& row : perf::open_remedies()) {
    text += table_row({code(errno_name(row.code)), perf::name_of(row.subject), row.cause});
  }
  return text;
}

}  // namespace pex::docs
