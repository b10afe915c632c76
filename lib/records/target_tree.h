#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pex::collect {

/// The paths of the open targets of one CPU, and which target is the nearest one at or above a
/// path. Paths are those of cgroups: they start with '/', and that of the root is "/". Several
/// targets may have the same path, as while a cgroup has been removed and created again: the last
/// one opened is the nearest, and those opened before it are above it.
///
/// An answer may be kept until it is outdated, which costs a comparison to find out. Only answers
/// that may have changed are outdated: those that were the target that closed, or the one that is
/// now the nearest above a new target.
class TargetTree {
 public:
  using Target = std::uint32_t;
  static constexpr Target kNone = 0;

  /// An answer.
  struct Nearest {
    Target target = kNone;    ///< or kNone
    std::uint32_t epoch = 0;  ///< 0 if it is outdated from the start
  };

  /// `target` is closed, and any number of the caller; greater ones take memory. `path` must not
  /// change until it is closed.
  void open(Target target, std::string_view path);
  void close(Target target);

  /// At or above `path`. Takes time in proportion to the length of the path.
  Nearest nearest(std::string_view path) const;
  /// As nearest(), if the target is known for another reason.
  Nearest as_nearest(Target target) const { return {target, nodes_[target].epoch}; }
  bool is_outdated(const Nearest& answer) const {
    return nodes_[answer.target].epoch != answer.epoch;
  }

  /// The next one above an open target, or kNone.
  Target above(Target target) {
    Node& node = nodes_[target];
    if (is_outdated(node.above)) node.above = find_above(node);
    return node.above.target;
  }

  /// Whether `target`, which may be kNone, is at exactly this path.
  bool is_at(Target target, std::string_view path) const;

 private:
  /// A path without the '/' of the root, so that each of its parents is the part before one of its
  /// slashes. The hash can be continued from that of a parent.
  struct Key {
    std::string_view path;
    std::uint64_t hash = 0;

    bool operator==(const Key& other) const { return path == other.path; }
  };
  struct HashOf {
    std::size_t operator()(const Key& key) const { return key.hash; }
  };
  struct Node {
    std::string_view path;    ///< as Key::path
    std::uint32_t epoch = 1;  ///< raised when answers that are this target are outdated
    Target older = kNone;     ///< the one opened before at the same path
    Nearest above{};
  };

  static std::string_view without_root(std::string_view path);
  static Key key_of(std::string_view path);
  Nearest find_above(const Node& node) const;

  std::vector<Node> nodes_{1};                    ///< by target; the first one is kNone
  std::unordered_map<Key, Target, HashOf> last_;  ///< opened at each path, which is that one's
};

}  // namespace pex::collect
