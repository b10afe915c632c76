#include "exposition/cgroup_info.h"

#include "exposition/labels.h"
#include "exposition/row_labels.h"
#include "exposition/text_format.h"

namespace pex::exposition {

CgroupInfo::CgroupInfo(const std::vector<collect::CgroupTarget>& cgroups) {
  for (const collect::CgroupTarget& target : cgroups) {
    std::string labels = identity_of(target);
    for (const auto& [name, value] : target.description->information) {
      labels = join_labels({labels, label(name, value)});
    }
    labels_.push_back(std::move(labels));
  }
}

void CgroupInfo::write(std::string& text) const {
  LateFamily samples{text, "perf_cgroup_info",
                     "Always 1; the labels tell what is known of a cgroup beside its counts.",
                     "gauge"};
  for (const std::string& labels : labels_) samples.start(labels, "") += "1\n";
}

}  // namespace pex::exposition
