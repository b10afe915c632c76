#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exposition/selection.h"

namespace pex::daemon {

/// What a scrape asks for with `collect[]=GROUP` or `exclude[]=GROUP`, of which each may be there
/// several times (as node_exporter has it). Fails, with one line for the client, when both are
/// there or a group is none of `known`; other parameters are nobody's and are passed over.
Result<exposition::Selection> selection_of(std::string_view query,
                                           const std::set<std::string, std::less<>>& known);

}  // namespace pex::daemon
