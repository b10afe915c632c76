#include "collect/records/target_tree.h"

#include <cassert>

namespace pex::collect {
namespace {

/// FNV-1a: one byte after another, so the hashes of all parents of a path are found on the way.
constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325;
constexpr std::uint64_t kFnvPrime = 0x100000001b3;

std::uint64_t hash_on(std::uint64_t hash, char byte) {
  return (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
}

}  // namespace

std::string_view TargetTree::without_root(std::string_view path) {
  return path == "/" ? std::string_view{} : path;
}

TargetTree::Key TargetTree::key_of(std::string_view path) {
  Key key{without_root(path), kFnvOffset};
  for (const char byte : key.path) key.hash = hash_on(key.hash, byte);
  return key;
}

TargetTree::Target TargetTree::take_place() {
  if (free_.empty()) {
    nodes_.emplace_back();
    return static_cast<Target>(nodes_.size() - 1);
  }
  const Target place = free_.back();
  free_.pop_back();
  return place;
}

TargetTree::Target TargetTree::open(std::string_view path) {
  const Target target = take_place();
  Node& node = nodes_[target];
  node.key = key_of(path);
  if (const auto found = last_.find(node.key); found != last_.end()) {
    node.older = found->second;
    last_.erase(found);
  }
  node.above = find_above(node);
  last_.emplace(node.key, target);
  ++nodes_[node.above.target].epoch;  // what is below the new one was nearest to that
  ++node.above.epoch;
  return target;
}

void TargetTree::close(Target target) {
  assert(target != kNone);
  Node& closed = nodes_[target];
  const auto found = last_.find(closed.key);
  if (found->second == target) {
    last_.erase(found);  // its key is the path of the one that closes
    if (closed.older != kNone) last_.emplace(nodes_[closed.older].key, closed.older);
  } else {
    Target newer = found->second;
    while (nodes_[newer].older != target) newer = nodes_[newer].older;
    nodes_[newer].older = closed.older;
  }
  closed = {.epoch = closed.epoch + 1};
  free_.push_back(target);
}

TargetTree::Nearest TargetTree::nearest(std::string_view path) const {
  path = without_root(path);
  Target found = kNone;
  Key parent{{}, kFnvOffset};
  for (std::size_t length = 0; length <= path.size(); ++length) {
    if (length == path.size() || path[length] == '/') {
      parent.path = path.substr(0, length);
      if (const auto at = last_.find(parent); at != last_.end()) found = at->second;
    }
    if (length < path.size()) parent.hash = hash_on(parent.hash, path[length]);
  }
  return as_nearest(found);
}

TargetTree::Nearest TargetTree::find_above(const Node& node) const {
  if (node.older != kNone) return as_nearest(node.older);
  const std::size_t slash = node.key.path.rfind('/');
  if (slash == std::string_view::npos) return as_nearest(kNone);  // the root
  return nearest(slash == 0 ? "/" : node.key.path.substr(0, slash));
}

bool TargetTree::is_at(Target target, std::string_view path) const {
  return target != kNone && nodes_[target].key.path == without_root(path);
}

}  // namespace pex::collect
