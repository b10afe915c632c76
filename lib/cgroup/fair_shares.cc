#include "cgroup/fair_shares.h"

#include <utility>

namespace pex::cgroup {
namespace {

/// Takes the first component off a path that starts with '/'.
std::string_view take_component(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  return component;
}

}  // namespace

bool FairShares::NeediestFirst::operator()(const Node* a, const Node* b) const {
  if (a->held != b->held) return a->held < b->held;
  if (a->next_use != b->next_use) return a->next_use > b->next_use;
  return *a->name < *b->name;
}

bool FairShares::RichestFirst::operator()(const Node* a, const Node* b) const {
  return a->held != b->held ? a->held > b->held : *a->name > *b->name;
}

bool FairShares::OldestFirst::operator()(const Node* a, const Node* b) const {
  return a->number < b->number;
}

FairShares::Node& FairShares::node_at(std::string_view path) {
  Node* node = root_.get();
  while (!path.empty()) {
    const std::string_view name = take_component(path);
    if (!node->branch) node->branch = std::make_unique<Branch>();
    auto& children = node->branch->children;
    auto child = children.find(name);
    if (child == children.end()) {
      child = children.emplace(name, std::make_unique<Node>()).first;
      child->second->parent = node;
      child->second->name = &child->first;
      child->second->number = ++nodes_made_;
    }
    node = child->second.get();
  }
  return *node;
}

FairShares::Node* FairShares::find(std::string_view path) const {
  Node* node = root_.get();
  while (!path.empty()) {
    if (!node->branch) return nullptr;
    const auto child = node->branch->children.find(take_component(path));
    if (child == node->branch->children.end()) return nullptr;
    node = child->second.get();
  }
  return node;
}

void FairShares::remove(const std::string& path) {
  Node* node = find(path);
  if (node == nullptr) return;
  change(*node, Own::kNone, 0);
  prune(node);
}

/// All ancestors are removed from their sets before their numbers change.
void FairShares::change(Node& node, Own own, std::uint64_t use) {
  for (Node* each = &node; each->parent != nullptr; each = each->parent) leave_order(*each);
  const Own before = std::exchange(node.own, own);
  node.use = use;
  for (Node* each = &node; each != nullptr; each = each->parent) {
    each->held += own == Own::kHeld ? 1 : 0;
    each->held -= before == Own::kHeld ? 1 : 0;
    each->waiting += own == Own::kWaiting ? 1 : 0;
    each->waiting -= before == Own::kWaiting ? 1 : 0;
    judge(*each);
    if (each->parent != nullptr) enter_order(*each);
  }
}

void FairShares::leave_order(Node& node) {
  node.parent->branch->waiting.erase(&node);
  node.parent->branch->holding.erase(&node);
}

void FairShares::enter_order(Node& node) {
  if (node.waiting > 0) node.parent->branch->waiting.insert(&node);
  if (node.held > 0) node.parent->branch->holding.insert(&node);
}

/// Updates what depends on the order of its children.
void FairShares::judge(Node& node) {
  const bool waits_itself = is_next_itself(node);
  bool is_unfair = false;
  node.next_use = waits_itself ? node.use : 0;
  if (node.branch && node.waiting > 0) {
    const Branch& branch = *node.branch;
    if (!waits_itself) node.next_use = (*branch.waiting.begin())->next_use;
    const std::size_t least = node.own == Own::kWaiting ? 0 : (*branch.waiting.begin())->held;
    is_unfair = !branch.holding.empty() && (*branch.holding.begin())->held >= least + 2;
  }
  if (is_unfair) {
    unfair_.insert(&node);
  } else {
    unfair_.erase(&node);
  }
}

/// Whether a place for its subtree is for the directory itself: it holds none, as each child may.
bool FairShares::is_next_itself(const Node& node) {
  if (node.own != Own::kWaiting) return false;
  if (!node.branch || node.branch->waiting.empty()) return true;
  const Node& first = **node.branch->waiting.begin();
  return first.held > 0 || first.next_use <= node.use;
}

void FairShares::prune(Node* node) {
  while (node->parent != nullptr && node->own == Own::kNone &&
         (!node->branch || node->branch->children.empty())) {
    Node* parent = node->parent;
    unfair_.erase(node);
    parent->branch->children.erase(parent->branch->children.find(*node->name));
    if (parent->branch->children.empty()) parent->branch.reset();
    node = parent;
  }
}

const FairShares::Node* FairShares::next_below(const Node& node) {
  const Node* at = &node;
  while (!is_next_itself(*at)) at = *at->branch->waiting.begin();
  return at;
}

const FairShares::Node* FairShares::last_below(const Node& node) {
  const Node* at = &node;
  while (at->branch && !at->branch->holding.empty()) at = *at->branch->holding.begin();
  return at;
}

std::string FairShares::path_of(const Node& node) {
  std::string path;
  for (const Node* each = &node; each->parent != nullptr; each = each->parent) {
    path.insert(0, "/" + *each->name);
  }
  return path;
}

std::optional<std::string> FairShares::next() const {
  if (waiting() == 0) return {};
  return path_of(*next_below(*root_));
}

std::optional<std::string> FairShares::last() const {
  if (held() == 0) return {};
  return path_of(*last_below(*root_));
}

std::optional<FairShares::Exchange> FairShares::exchange() {
  if (unfair_.empty()) return {};
  Node served;
  served.number = served_;
  const auto next = unfair_.upper_bound(&served);
  const Node& at = next == unfair_.end() ? **unfair_.begin() : **next;
  served_ = at.number;
  const Node& rich = **at.branch->holding.begin();
  const bool is_own = at.own == Own::kWaiting;
  const Node& poor = is_own ? at : **at.branch->waiting.begin();
  return Exchange{path_of(*last_below(rich)), path_of(is_own ? at : *next_below(poor)),
                  path_of(rich), path_of(poor)};
}

std::optional<std::string> FairShares::displaced_by(std::string_view path) const {
  const Node* node = root_.get();
  while (!path.empty() && node->branch && !node->branch->holding.empty()) {
    const auto child = node->branch->children.find(take_component(path));
    const bool is_known = child != node->branch->children.end();
    const Node& rich = **node->branch->holding.begin();
    if (rich.held >= (is_known ? child->second->held : 0) + 2) return path_of(*last_below(rich));
    if (!is_known) return {};
    node = child->second.get();
  }
  return {};
}

}  // namespace pex::cgroup
