#include "base/result.h"
#include "daemon/cli/words.h"
#include "markdown.h"
#include "perf/open_remedy.h"
#include "sections.h"

namespace pex::docs {

std::string remedy_table() {
  std::string text =
      table_head({"error", "the kernel's words", "of", "why", "what to do", "label `remedy`"});
  for (const perf::OpenRemedy& row : perf::open_remedies()) {
    text += table_row({code(errno_name(row.code)), errno_words(row.code),
                       perf::name_of(row.subject), row.cause, daemon::worded(row.remedy),
                       perf::can_be_remedied(row.code) ? "yes" : "no"});
  }
  return text;
}

std::string error_table() {
  std::string text = table_head({"error", "of", "cause"});
  for (const perf::OpenRemedy& row : perf::open_remedies()) {
    text += table_row({code(errno_name(row.code)), perf::name_of(row.subject), row.cause});
  }
  return text;
}

}  // namespace pex::docs
