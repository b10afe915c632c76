#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token_bucket.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_names.h"
#include "cgroup/discovery/left_out.h"
#include "cgroup/fair_shares.h"
#include "cgroup/gone_cgroups.h"
#include "cgroup/hierarchy.h"
#include "cgroup/reported_paths.h"
#include "cgroup/tree.h"

namespace pex::cgroup {

/// The cgroups that can be counted. A cgroup is the same object in two results if it is the same in
/// the kernel.
struct DiscoveryResult {
  /// There can be thousands; lists show this many.
  static constexpr std::size_t kMaxPaths = 200;

  std::vector<std::shared_ptr<const Cgroup>> cgroups;  ///< at most `capacity`, by path; some may be
                                                       ///< gone (Discovery::update, `reported`)
  std::size_t left_out = 0;                            ///< selected as well, but beyond `capacity`
  std::vector<std::string> left_out_paths;  ///< the first of them by path, at most kMaxPaths
  std::vector<Error> unreadable;            ///< one error for each directory; it is left out with
                                            ///< everything below it

  bool operator==(const DiscoveryResult&) const = default;
};

/// Finds the cgroups that can be counted: the selected ones of the tree, up to the capacity, each
/// held by its directory. With `leaves`, one that has another one inside is replaced by what it has
/// inside: the selected ones, and of all else the outermost without a selected one. Not
/// thread-safe.
class Discovery {
 public:
  using Clock = std::chrono::steady_clock;

  /// Cgroups that were displaced by others, since the last call of take_displaced().
  struct Displaced {
    std::size_t cgroups = 0;
    std::string rich;  ///< the directory that had more than its share, the last time
    std::string poor;  ///< the directory that had less
  };

  /// How many are displaced at once, and in each second after that: series should be stable, and a
  /// new tenant should not wait for long.
  static constexpr double kExchangesAtOnce = 16;
  static constexpr double kExchangesPerSecond = 1;

  Discovery(Hierarchy hierarchy, Selection selection, Tree::Limits limits = {});

  /// The current cgroups; the same object as before if nothing has changed. If there are more than
  /// `capacity`, it is divided fairly among the subtrees of each directory (fair_shares.h). Within
  /// a share, cgroups already held stay; the next ones are those with most CPU time (left_out.h),
  /// then the first by path. A held cgroup is displaced only if another subtree has at least two
  /// fewer than its own and needs more. The cost grows with what has changed and with what is held,
  /// not with what is left out. Fails if the tree as a whole cannot be read; then last() is the
  /// result before, without those beyond `capacity`: their descriptors may be what it lacks.
  ///
  /// `reported` is for callers that count by the kernel's records: the cgroups that it has reported
  /// since the last call, on any CPU and in any order. Those of them that are selected, and were
  /// gone before they could be held, are in one result, without a directory, and are not missed.
  /// They only get room that is left. One of a path that exists again, and with `leaves` one inside
  /// of an existing leaf, is not there: what it did is counted as done by that one. `lacks_names`:
  /// there are records of other ids than those in names().
  Result<std::shared_ptr<const DiscoveryResult>> update(
      std::size_t capacity, Clock::time_point now,
      std::optional<std::span<const NamedCgroup>> reported = std::nullopt,
      bool lacks_names = false);

  /// The current cgroups as of the last update(); null before one has succeeded.
  const std::shared_ptr<const DiscoveryResult>& last() const { return result_; }

  /// Of all cgroups, selected or not, and of those that have been reported, as of the last update;
  /// none if it was called without reports. The same object while nothing has changed.
  const std::shared_ptr<const CgroupNames>& names() { return tree_.names(); }

  /// Another selection from the next update() on. Cgroups that both select stay the same objects.
  void select(Selection selection);

  /// The cgroup is not counted for now: another one may take its room at the next update.
  void release(const std::string& path);

  /// Selected cgroups that were gone before they could be held (Tree), and were in no result
  /// either, since the last call. If reports are given, they are counted only when it is too late
  /// for one (GoneCgroups::kMaxDelay).
  std::uint64_t take_missed() { return std::exchange(missed_, 0); }

  /// All that are left out, by path.
  std::vector<std::string> left_out() const { return left_out_.paths(left_out_.size()); }

  /// How many were newly left out since the last call, without the displaced ones.
  std::uint64_t take_newly_left_out() { return std::exchange(newly_left_out_, 0); }
  Displaced take_displaced() { return std::exchange(displaced_, {}); }

  /// See Tree.
  Tree::Skipped skipped() const { return tree_.skipped(); }
  std::size_t directories() const { return tree_.followed(); }
  std::size_t unwatched() const { return tree_.unwatched(); }
  bool take_overflow() { return tree_.take_overflow(); }
  bool is_watched() const { return tree_.is_watched(); }
  int descriptor() const { return tree_.descriptor(); }

 private:
  using Held = std::map<std::string, std::shared_ptr<const Cgroup>>;

  void learn(std::optional<std::span<const NamedCgroup>> reported, Clock::time_point now);
  bool is_unreadable(const std::string& path) const;
  bool is_selected(const std::string& path) const;
  bool is_rest(const std::string& path) const;
  bool is_replaced(const std::string& path) const;
  bool is_covered(const std::string& path) const;
  void follow_tree();
  void follow_selection();
  void reconsider(const std::string& path);
  void reconsider_if_changed(const std::string& path);
  void leave_out(const std::string& path);
  void drop(const std::string& path);
  void drop_surplus(std::size_t capacity);
  void take_in(std::size_t capacity, Clock::time_point now, DiscoveryResult& result);
  void note_gone(const std::string& path, std::uint64_t id, Clock::time_point now);
  void update_uses(const std::vector<LeftOut::Use>& uses);
  void fill_room(std::size_t capacity, Clock::time_point now, DiscoveryResult& result);
  void exchange(Clock::time_point now, DiscoveryResult& result);
  bool may_exchange(Clock::time_point now);
  Result<std::shared_ptr<const Cgroup>> hold(const std::string& path) const;
  bool try_hold(const std::string& path, Clock::time_point now, DiscoveryResult& result);
  DiscoveryResult choose(std::size_t capacity, Clock::time_point now);
  void shed(std::size_t capacity);
  void list(DiscoveryResult& result) const;
  std::map<std::string, std::uint64_t> find_gone(Clock::time_point now);
  void add_gone(std::size_t capacity, Clock::time_point now, DiscoveryResult& result);
  void count_missed(bool may_be_reported);

  Hierarchy hierarchy_;
  Tree tree_;
  /// is_replaced() of directories with other ones inside, until the tree changes: each of a
  /// thousand children asks it of the same one, and to find it out is to look at all of them.
  mutable std::unordered_map<std::string, bool> replaced_;
  std::shared_ptr<const DiscoveryResult> result_;
  // Each selected cgroup is in exactly one of these.
  Held held_;
  LeftOut left_out_;
  std::set<std::string> refused_;  ///< could not be held; each choice tries again
  /// New, until a choice: held if there is room, else left out. By path; the inodes of those that
  /// were not held before, else 0.
  std::map<std::string, std::uint64_t> arrived_;
  FairShares shares_;  ///< of the cgroups that are held or left out
  TokenBucket exchanges_{{kExchangesPerSecond, kExchangesAtOnce}};

  ReportedPaths reported_;
  GoneCgroups gone_;
  bool has_gone_ = false;     ///< result_ has some that are gone
  std::uint64_t missed_ = 0;  ///< not taken yet

  std::uint64_t newly_left_out_ = 0;
  Displaced displaced_;
  std::size_t capacity_ = 0;
  bool try_again_ = false;          ///< choose again even if nothing changes
  bool has_new_selection_ = false;  ///< since the last choice
};

}  // namespace pex::cgroup
