#include "cgroup/description.h"

#include <algorithm>
#include <iterator>

#include "cgroup/path_info.h"

namespace pex::cgroup {
namespace {

void add(std::vector<Label>& labels, std::string_view name, const std::string& value) {
  if (!value.empty()) labels.emplace_back(name, value);
}

bool is_of_pod(const Label& label) {
  return std::find(std::begin(kPodLabels), std::end(kPodLabels), label.first) !=
         std::end(kPodLabels);
}

/// The last known labels of its pod.
void keep_pod(const Description& before, Description& now) {
  std::copy_if(before.information.begin(), before.information.end(),
               std::back_inserter(now.information), is_of_pod);
}

}  // namespace

LogLinks::Update Describer::update(Clock::time_point now) {
  if (!pods_) return {};
  return pods_->update(now);
}

std::shared_ptr<const Description> Describer::describe(
    const std::string& path, const std::shared_ptr<const Description>& before) const {
  const PathInfo info = parse_path(path);
  Description now;
  now.container_id = info.container_id;
  for (const PathLabel& each : kPathLabels) {
    add(each.is_identity ? now.identity : now.information, each.label, info.*each.field);
  }
  for (Label& label : rules_.labels_of(path)) now.identity.push_back(std::move(label));
  if (const PodContainer* pod = pods_ ? pods_->find(info.container_id) : nullptr) {
    add(now.information, "pod", pod->pod);
    add(now.information, "namespace", pod->namespace_);
    add(now.information, "container", pod->container);
  } else if (before && pods_) {
    keep_pod(*before, now);
  }
  if (before && *before == now) return before;
  return std::make_shared<const Description>(std::move(now));
}

}  // namespace pex::cgroup
