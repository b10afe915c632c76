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
std::string self_table();
std::string process_table();

std::string remedy_table();
std::string error_table();  ///< docs/development/abi.md: a part of the same
std::string sysctl_values_table();

}  // namespace pex::docs
