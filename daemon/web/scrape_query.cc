#include "daemon/web/scrape_query.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http/negotiation.h"

namespace pex::daemon {
namespace {

constexpr std::string_view kOnly = "collect[]";
constexpr std::string_view kAllBut = "exclude[]";

using Names = std::set<std::string, std::less<>>;

}  // namespace

Result<exposition::Selection> selection_of(std::string_view query, const Names& known) {
  using exposition::Selection;
  const std::vector<std::string> wanted = http::query_values(query, kOnly);
  const std::vector<std::string> unwanted = http::query_values(query, kAllBut);
  if (!wanted.empty() && !unwanted.empty()) {
    return Error{0, "collect[] and exclude[] cannot be combined", "use one of them"};
  }
  if (wanted.empty() && unwanted.empty()) return Selection{};

  const std::vector<std::string>& named = wanted.empty() ? unwanted : wanted;
  const bool are_known = std::all_of(named.begin(), named.end(),
                                     [&](const std::string& name) { return known.contains(name); });
  if (!are_known) {
    // Without the name: a client's input is not echoed.
    return Error{0, "a group in collect[] or exclude[] is not configured",
                 "write one of " + join(known)};
  }
  return Selection{wanted.empty() ? Selection::Rule::kAllBut : Selection::Rule::kOnly,
                   {named.begin(), named.end()}};
}

}  // namespace pex::daemon
