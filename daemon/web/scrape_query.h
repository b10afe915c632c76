#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exposition/selection.h"

namespace pex::daemon {

/// The selection of a scrape by `collect[]=GROUP` or `exclude[]=GROUP`; each may be
/// repeated (as in node_exporter). Fails, with one line for the client, if both are used or a group
/// is not one of `known`; other parameters are ignored.
Result<exposition::Selection> selection_of(std::string_view query,
                                           const std::set<std::string, std::less<>>& known);

}  // namespace pex::daemon
