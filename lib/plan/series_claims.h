#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "events/event_spec.h"
#include "yaml/position.h"

namespace pex::plan {

/// Which event is published as which series. Each series belongs to one event and each family to
/// one scope, and no name may be one that the exporter or OpenMetrics generates.
class SeriesClaims {
 public:
  /// Fails if the series of `event` belongs to another event. `at` is its position in the file.
  Result<> claim(Scope scope, const events::EventIdentity& event, const yaml::Position& at);

 private:
  Result<> claim_family(Scope scope, const events::EventIdentity& event, const std::string& family,
                        const yaml::Position& at);

  using Series = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;
  std::map<Series, yaml::Position> series_;  ///< the first of each family and labels
  /// For each family its scope, and its first position.
  std::map<std::string, std::pair<Scope, yaml::Position>> families_;
};

}  // namespace pex::plan
