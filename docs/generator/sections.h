#pragma once

#include <string>

namespace pex::docs {

// Each is the text of one section, without blank lines around it.

std::string keys_for_page();    ///< docs/configuration.md: a heading and a table for each map
std::string keys_for_manual();  ///< the same in scdoc

/// The shipped configuration `yaml` with the comment of each key renewed: the first sentence of its
/// meaning, and its default. Values and all other comments remain.
std::string with_key_comments(const std::string& yaml);

std::string group_evidence_table();
std::string event_evidence_table();
std::string group_error_table();
std::string self_table();
std::string process_table();

std::string remedy_table();
std::string sysctl_table();
std::string sysctl_values_table();

// docs/abi.md: a table for each part of the ABI.
std::string abi_attr_sizes();
std::string abi_attr_fields();
std::string abi_open_flags();
std::string abi_read_formats();
std::string abi_sample_fields();
std::string abi_branch_options();
std::string abi_callchain_contexts();
std::string abi_data_source();
std::string abi_records();
std::string abi_record_misc();
std::string abi_record_values();
std::string abi_ioctls();
std::string abi_task_controls();
std::string abi_overflow_reports();
std::string abi_page_fields();
std::string abi_sysctls();
std::string abi_errors();

}  // namespace pex::docs
