#pragma once

#include <string>

namespace pex::test {

/// Prints each record of the kernel in a file of perf(1), one JSON object a line: its offset and
/// size, the index of its event, and its fields, or `error` with the reason why it cannot be
/// decoded. Numbers are numbers, bytes hexadecimal texts. What sample_type does not ask for is not
/// there. Throws std::runtime_error if the file cannot be read.
void print_records(const std::string& path);

}  // namespace pex::test
