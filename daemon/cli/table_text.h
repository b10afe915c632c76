#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.h"

namespace pex::daemon {

/// `text` padded to a column of `width`, followed by at least one blank.
std::string column(std::string text, std::size_t width);

/// Writes rows of as many cells, each column as wide as its widest cell; the last one has no end.
/// Numbers are at the right of their columns: `are_numbers` has those before the last; empty: none.
void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& rows,
                 const std::vector<bool>& are_numbers = {});

/// "0.98"
std::string with_decimals(double number, int decimals);

/// "yes", "no (ENOENT)", or "no" for an error without an errno.
std::string yes_or_no(bool available, const Error& reason);

}  // namespace pex::daemon
