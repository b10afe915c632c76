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

/// Which event is published as which series. No two events may be the same series; a family belongs
/// to one scope; and no name may be one that the exporter or OpenMetrics makes itself.
class SeriesClaims {
 public:
  /// Fails when the series of `event` belongs to another one. `at` is where it is configured.
  Result<> claim(Scope scope, const events::EventIdentity& event, const yaml::Position& at);

 private:
  Result<> claim_family(Scope scope, const events::EventIdentity& event, const std::string& family,
                        const yaml::Position& at);

  using Series = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;
  std::map<Series, yaml::Position> series_;  ///< family and labels, and where they were first
  /// Of each family its scope, and where it was first.
  std::map<std::string, std::pair<Scope, yaml::Position>> families_;
};

}  // namespace pex::plan
