#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace pex::cgroup {

/// Divides places among the directories of a tree by hierarchical max-min fairness: at each
/// directory, the places of its subtree are divided among the subtrees of its children, and the
/// directory itself if it needs a place. None gets more than it requests, and unused places go to
/// the others. So a tenant who creates many or deeply nested directories competes only within the
/// share of his own directory. Works on paths and numbers only, and does not decide how many places
/// there are. Each call costs the depth of a path and the logarithm of the number of siblings, not
/// the size of the tree.
class FairShares {
 public:
  FairShares() : root_(std::make_unique<Node>()) {}

  /// The path holds a place from now on.
  void hold(const std::string& path) { change(node_at(path), Own::kHeld, 0); }
  /// The path waits for a place. Among equal claims, the one with more `use` comes first.
  void wait(const std::string& path, std::uint64_t use) {
    change(node_at(path), Own::kWaiting, use);
  }
  /// The path neither holds a place nor waits for one.
  void remove(const std::string& path);

  std::size_t held() const { return root_->held; }
  std::size_t waiting() const { return root_->waiting; }

  /// The waiting path that gets the next free place. Giving places one by one in this way divides
  /// them fairly: each goes where there are fewest.
  std::optional<std::string> next() const;

  /// The path that loses its place if there is one less: of the largest subtree, the last by name.
  std::optional<std::string> last() const;

  /// A move of one place that makes the division fairer.
  struct Exchange {
    std::string from;  ///< holds a place
    std::string to;    ///< waits
    std::string rich;  ///< the subtree of `from`: has at least two places more than
    std::string poor;  ///< the subtree of `to`, which is its sibling or the directory of both
  };
  /// None if the division is fair. A difference of one is fair, as a move would only change sides.
  /// Unfair directories are served round-robin, so that a tenant who keeps his own unfair does not
  /// delay the others.
  std::optional<Exchange> exchange();
  bool is_fair() const { return unfair_.empty(); }

  /// The path that a new one at `path` would displace; none if that would make the division less
  /// fair.
  std::optional<std::string> displaced_by(std::string_view path) const;

 private:
  enum class Own { kNone, kWaiting, kHeld };
  struct Node;
  struct NeediestFirst {
    bool operator()(const Node* a, const Node* b) const;
  };
  struct RichestFirst {
    bool operator()(const Node* a, const Node* b) const;
  };
  struct OldestFirst {
    bool operator()(const Node* a, const Node* b) const;
  };
  /// The state of directories with others below.
  struct Branch {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
    std::set<Node*, NeediestFirst> waiting;  ///< children with a waiting path
    std::set<Node*, RichestFirst> holding;   ///< children with a place
  };
  struct Node {
    Node* parent = nullptr;
    const std::string* name = nullptr;  ///< its key in the parent's children
    std::unique_ptr<Branch> branch = {};
    std::size_t held = 0;        ///< places of the subtree
    std::size_t waiting = 0;     ///< of the subtree
    std::uint64_t use = 0;       ///< of the directory itself
    std::uint64_t next_use = 0;  ///< of the path in the subtree that gets the next place
    std::uint64_t number = 0;    ///< in order of creation
    Own own = Own::kNone;
  };

  Node& node_at(std::string_view path);
  Node* find(std::string_view path) const;
  void change(Node& node, Own own, std::uint64_t use);
  void judge(Node& node);
  void prune(Node* node);
  static void leave_order(Node& node);
  static void enter_order(Node& node);
  static bool is_next_itself(const Node& node);
  static const Node* next_below(const Node& node);
  static const Node* last_below(const Node& node);
  static std::string path_of(const Node& node);

  std::unique_ptr<Node> root_;
  std::set<Node*, OldestFirst> unfair_;  ///< where a place should go from one child to another
  std::uint64_t nodes_made_ = 0;
  std::uint64_t served_ = 0;  ///< number of the directory of the last exchange
};

}  // namespace pex::cgroup
