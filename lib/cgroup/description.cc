#include "cgroup/description.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "cgroup/path_info.h"
#include "cgroup/series_path.h"

namespace pex::cgroup {
namespace {

void add(std::vector<Label>& labels, std::string_view name, const std::string& value) {
  if (!value.empty()) labels.emplace_back(name, value);
}

template <std::size_t kSize>
bool is_one_of(const std::string_view (&names)[kSize], const Label& label) {
  return std::find(std::begin(names), std::end(names), label.first) != std::end(names);
}

/// Those of these names that it had before. False if there are none.
template <std::size_t kSize>
bool keep(const std::string_view (&names)[kSize], const Description* before, Description& now) {
  if (before == nullptr) return false;
  const std::size_t others = now.information.size();
  std::copy_if(before->information.begin(), before->information.end(),
               std::back_inserter(now.information),
               [&](const Label& label) { return is_one_of(names, label); });
  return now.information.size() > others;
}

constexpr std::string_view kIdLabels[] = {"container_id", "pod_uid"};

bool is_id(const Label& label) { return is_one_of(kIdLabels, label); }

void lose_ids(Description& of) {
  std::erase_if(of.identity, is_id);
  of.container_id.clear();
  of.has_lost_ids = true;
}

bool is_within(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '/');
}

bool is_nearer_to_root(const DescribedCgroup& a, const DescribedCgroup& b) {
  const auto rank = [](const std::string& path) {
    return std::tuple(std::count(path.begin(), path.end(), '/'), path.size(),
                      std::string_view(path));
  };
  return rank(*a.path) < rank(*b.path);
}

/// Which cgroups have an id.
class Holders {
 public:
  void add(const DescribedCgroup& cgroup) {
    for (const Label& label : (*cgroup.description)->identity) {
      if (is_id(label)) paths_.emplace(label.second, *cgroup.path);
    }
  }
  bool has_any_outside(const DescribedCgroup& cgroup) const {
    const std::vector<Label>& labels = (*cgroup.description)->identity;
    return std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
      const auto [first, last] = paths_.equal_range(label.second);
      return is_id(label) && std::any_of(first, last, [&](const auto& holder) {
               return !is_within(*cgroup.path, holder.second) &&
                      !is_within(holder.second, *cgroup.path);
             });
    });
  }

 private:
  std::unordered_multimap<std::string_view, std::string_view> paths_;
};

/// As the log of the container names it; else the last known names, or those of the pod alone.
/// Null: they are being read.
void add_pod(const LogLinks* links, const PathInfo& info, const Description* before,
             Description& now) {
  const PodContainer* names = links != nullptr ? links->find(info.container_id) : nullptr;
  if (names == nullptr && keep(kPodLabels, before, now)) return;
  if (names == nullptr && links != nullptr) names = links->find_pod(info.pod_uid);
  if (names == nullptr) return;
  add(now.information, "pod", names->pod);
  add(now.information, "namespace", names->namespace_);
  add(now.information, "container", names->container);
}

void add_container(const ContainerNames* all, const PathInfo& info, const Description* before,
                   Description& now) {
  const ContainerName* name = all != nullptr ? all->find(info.container_id) : nullptr;
  if (name == nullptr) return void(keep(kContainerLabels, before, now));
  add(now.information, "container", name->container);
  add(now.information, "image", name->image);
}

/// A file system that does not answer for so long hangs, as that of a server that is away.
constexpr std::chrono::seconds kHangs{1};

Error late(const std::string& files) {
  return {0,
          "wait for the file system of " + files +
              ", which has not answered for a second: new names of containers are not read",
          "look whether its mount answers: stat -f on the directory"};
}

}  // namespace

std::vector<std::string> take_claimed_ids(std::span<const DescribedCgroup> cgroups) {
  std::vector<DescribedCgroup> claims;
  std::copy_if(cgroups.begin(), cgroups.end(), std::back_inserter(claims), [](const auto& each) {
    const Description& description = **each.description;
    return description.is_delegated &&
           std::any_of(description.identity.begin(), description.identity.end(), is_id);
  });
  std::vector<std::string> losers;
  if (claims.empty()) return losers;
  Holders holders;
  for (const DescribedCgroup& each : cgroups) {
    if (!(*each.description)->is_delegated) holders.add(each);
  }
  std::sort(claims.begin(), claims.end(), is_nearer_to_root);
  for (const DescribedCgroup& claim : claims) {
    if (!holders.has_any_outside(claim)) {
      holders.add(claim);
      continue;
    }
    auto without = std::make_shared<Description>(**claim.description);
    lose_ids(*without);
    *claim.description = std::move(without);
    losers.push_back(*claim.path);
  }
  return losers;
}

Describer::Describer(LabelRules rules, std::optional<LogLinks> pods,
                     std::optional<ContainerNames> containers, std::size_t max_label_bytes,
                     std::chrono::milliseconds timeout)
    : rules_(std::move(rules)), timeout_(timeout), max_label_bytes_(max_label_bytes) {
  if (!pods && !containers) return;
  std::string files;
  const auto add = [&files](const std::string& path) {
    files += (files.empty() ? "'" : " or '") + path + "'";
  };
  if (pods) add(pods->directory());
  if (containers) {
    for (const ContainerNames::Source& each : containers->sources()) add(each.path);
  }
  names_ = std::make_shared<Names>(Names{std::move(files), std::move(pods), std::move(containers)});
  thread_ = std::make_unique<host::SideThread>("names", [names = names_] { names->update(); });
}

void Describer::Names::update() {
  last = {};
  const auto add = [this](const auto& update) {
    last.has_changed = last.has_changed || update.has_changed;
    if (update.error) last.errors.push_back(*update.error);
  };
  if (pods) add(pods->update(at));
  if (containers) add(containers->update(at));
}

Describer::Update Describer::update(Clock::time_point now) {
  if (!names_) return {};
  Clock::time_point until{};
  if (!thread_->is_busy()) {
    began_ = Clock::now();
    until =
        began_ + (has_answered_ ? timeout_ : std::max<std::chrono::milliseconds>(timeout_, kHangs));
    names_->at = now;
    thread_->begin();
  }
  if (!thread_->wait_until(until)) {
    is_late_ = true;
    if (Clock::now() - began_ < kHangs) return {};
    return {false, {late(names_->files)}};
  }
  has_answered_ = true;
  Update all = std::move(names_->last);
  all.has_changed = std::exchange(is_late_, false) || all.has_changed;
  return all;
}

std::shared_ptr<const Description> Describer::describe(
    const std::string& path, const std::shared_ptr<const Description>& before, std::size_t of_root,
    bool is_series) const {
  const PathInfo info = parse_path(path, of_root);
  Description now;
  now.of_root = of_root;
  now.container_id = info.container_id;
  now.is_delegated = info.is_delegated;
  for (const PathLabel& each : kPathLabels) {
    add(each.is_identity ? now.identity : now.information, each.label, info.*each.field);
  }
  // As published; a truncated value could equal another one.
  const auto is_too_long = [&](const Label& label) {
    const bool is = as_label_value(label.second).size() > max_label_bytes_;
    if (is) now.too_long = label.first;
    return is;
  };
  for (Label& label : rules_.labels_of(path)) {
    if (!is_too_long(label)) now.identity.push_back(std::move(label));
  }
  const bool is_of_kubelet = !info.pod_uid.empty() && !info.is_delegated;
  if (before && before->has_lost_ids) lose_ids(now);
  const bool is_read = names_ && !thread_->is_busy();
  if (names_ && names_->pods && is_of_kubelet) {
    add_pod(is_read ? &*names_->pods : nullptr, info, before.get(), now);
  }
  // A user may have named a delegated cgroup like a container of others.
  const bool is_of_engine = !is_of_kubelet && !info.container_id.empty() && !info.is_delegated;
  if (names_ && names_->containers && is_of_engine) {
    add_container(is_read ? &*names_->containers : nullptr, info, before.get(), now);
  }
  std::erase_if(now.information, [&](const Label& label) {
    const bool is_set_by_rule =
        std::any_of(now.identity.begin(), now.identity.end(),
                    [&](const Label& own) { return own.first == label.first; });
    return is_set_by_rule || is_too_long(label);
  });
  std::string series = is_series ? std::string() : series_path(path);
  // A '*' in a name that somebody has given leads to the same series as that of others.
  if (!is_series && (series != path || path.find('*') != path.npos)) {
    now.of_series = describe(series, before ? before->of_series : nullptr, of_root, true);
    now.series_path = std::move(series);
  }
  if (before && *before == now) return before;
  return std::make_shared<const Description>(std::move(now));
}

}  // namespace pex::cgroup
