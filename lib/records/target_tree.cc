#include "records/target_tree.h"

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

void TargetTree::open(Target target, std::string_view path) {
  assert(target != kNone);
  if (target >= nodes_.size()) nodes_.resize(target + 1);
  Node& node = nodes_[target];
  const Key key = key_of(path);
  node.path = key.path;
  if (const auto before = last_.find(key); before != last_.end()) {
    node.older = before->second;
    last_.erase(before);
  }
  last_.emplace(key, target);
  node.above = find_above(node);
  ++nodes_[node.above.target].epoch;  // what is below the new one was nearest to that
  ++node.above.epoch;
}

void TargetTree::close(Target target) {
  assert(target != kNone);
  Node& closed = nodes_[target];
  const auto last = last_.find(key_of(closed.path));
  if (last->second == target) {
    last_.erase(last);
    if (closed.older != kNone) last_.emplace(key_of(nodes_[closed.older].path), closed.older);
  } else {
    Target newer = last->second;
    while (nodes_[newer].older != target) newer = nodes_[newer].older;
    nodes_[newer].older = closed.older;
  }
  closed = {.path = {}, .epoch = closed.epoch + 1};
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
  const std::size_t slash = node.path.rfind('/');
  if (slash == std::string_view::npos) return as_nearest(kNone);  // the root
  return nearest(slash == 0 ? "/" : node.path.substr(0, slash));
}

bool TargetTree::is_at(Target target, std::string_view path) const {
  return target != kNone && nodes_[target].path == without_root(path);
}

}  // namespace pex::collect
