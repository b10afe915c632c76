#include "plan/group_identity.h"

namespace pex::plan {

GroupIdentity identity_of(const collect::GroupPlan& group) {
  return {group.pmu, group.mode, group.events};
}

}  // namespace pex::plan
