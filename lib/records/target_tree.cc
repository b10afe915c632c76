#include "records/target_tree.h"

#include <cassert>
#include <utility>

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

/// Where the path is, or the free slot for it.
std::size_t TargetTree::slot_of(const Key& key) const {
  const std::size_t mask = last_.size() - 1;
  std::size_t slot = key.hash & mask;
  while (last_[slot] != kNone && nodes_[last_[slot]].path != key.path) slot = (slot + 1) & mask;
  return slot;
}

/// For one more path.
void TargetTree::make_room() {
  if ((paths_ + 1) * 2 <= last_.size()) return;
  const std::vector<Target> before =
      std::exchange(last_, std::vector<Target>(last_.size() * 2, kNone));
  for (const Target target : before) {
    if (target != kNone) last_[slot_of(key_of(nodes_[target].path))] = target;
  }
}

/// What was moved on because the slot was taken moves back.
void TargetTree::free_slot(std::size_t slot) {
  const std::size_t mask = last_.size() - 1;
  for (std::size_t next = (slot + 1) & mask; last_[next] != kNone; next = (next + 1) & mask) {
    const std::size_t first = key_of(nodes_[last_[next]].path).hash & mask;
    if (((next - first) & mask) < ((next - slot) & mask)) continue;
    last_[slot] = last_[next];
    slot = next;
  }
  last_[slot] = kNone;
  --paths_;
}

void TargetTree::open(Target target, std::string_view path) {
  assert(target != kNone);
  make_room();
  if (target >= nodes_.size()) nodes_.resize(target + 1);
  Node& node = nodes_[target];
  const Key key = key_of(path);
  node.path = key.path;
  Target& last = last_[slot_of(key)];
  paths_ += last == kNone ? 1 : 0;
  node.older = std::exchange(last, target);
  node.above = find_above(node);
  ++nodes_[node.above.target].epoch;  // what is below the new one was nearest to that
  ++node.above.epoch;
}

void TargetTree::close(Target target) {
  assert(target != kNone);
  Node& closed = nodes_[target];
  const std::size_t slot = slot_of(key_of(closed.path));
  if (last_[slot] == target) {
    closed.older == kNone ? free_slot(slot) : void(last_[slot] = closed.older);
  } else {
    Target newer = last_[slot];
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
      if (const Target at = last_[slot_of(parent)]; at != kNone) found = at;
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
