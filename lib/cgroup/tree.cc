#include "cgroup/tree.h"

#include <sys/stat.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "cgroup/inventory.h"

namespace pex::cgroup {
namespace {

/// inotify reports every change; this bounds the error if it does not.
constexpr std::chrono::minutes kReconcileAnyway{1};

/// If names are lacking, and some directories are not watched or some changes not read yet.
constexpr std::chrono::seconds kReconcileForNames{20};

/// Opening a directory failed because of its rights or its path: what is below it is not known, and
/// everything else is.
bool may_be_left_out(int code) { return code == EACCES || code == EPERM || code == ENAMETOOLONG; }

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Error cannot_read(int code, const std::string& directory) {
  return Error{code, "read cgroup directory '" + directory + "'", remedy_for_directory(code)};
}

}  // namespace

/// A byte that is not UTF-8, or a control character, is published as five or more.
bool is_path_too_long(const std::string& path, std::size_t bytes) {
  constexpr std::size_t kMaxBytesPerByte = 5;
  return path.size() > bytes ||
         (path.size() > bytes / kMaxBytesPerByte && as_label_value(path).size() > bytes);
}

bool Tree::is_too_long(const std::string& path) const {
  return is_path_too_long(path, limits_.path_bytes);
}

Tree::Tree(std::string root, Selection selection, Limits limits)
    : root_(std::move(root)),
      selection_(std::move(selection)),
      limits_(limits),
      watch_(limits.watches),
      visits_({kVisitsPerSecond, static_cast<double>(limits.directories)}),
      names_(limits.directories) {}

Result<bool> Tree::update(Clock::time_point now, bool lacks_names) {
  const TreeWatch::Changes changes = watch_.take(now);
  skipped_by_earlier_walks_.merge(std::exchange(skipped_by_walks_, {}));
  for (const TreeWatch::Change& change : changes.each) apply(change);
  for (const int watch : changes.ended) missed_.erase(watch);
  if (changes.are_all) skipped_by_earlier_walks_.clear();
  overflowed_ = overflowed_ || changes.were_lost;
  if (changes.are_unknown) missed_.clear();  // the removal of some of them may never be reported
  const bool may_lack_some = unwatched() > 0 || places_of_named_.held() > 0 || !changes.are_all;
  const Clock::duration most = lacks_names && may_lack_some ? kReconcileForNames : kReconcileAnyway;
  if (changes.are_unknown || now - reconciled_at_ >= most) is_reconciled_ = false;
  if (!is_reconciled_ && visits_.tokens(now) > 0) {
    if (const Result<> reconciled = reconcile(now); !reconciled) return reconciled.error();
  }
  names_.drop_ended(
      [this](std::uint64_t id, const std::string& path) { return presence_of(id, path); },
      reconciled_at_);
  return std::exchange(changed_, false);
}

void Tree::select(Selection selection) {
  selection_ = std::move(selection);
  is_reconciled_ = false;
}

void Tree::name_all(bool all) {
  if (names_all_ == all) return;
  names_all_ = all;
  is_reconciled_ = false;
  names_ = NameIndex(limits_.directories);
  if (!all) return;
  for (const auto& [path, directory] : known_) names_.add(directory.inode, path);
}

std::vector<NamedCgroup> Tree::learn(std::vector<NamedCgroup> reported) {
  std::erase_if(reported, [this](const NamedCgroup& cgroup) {
    return !names_.report(cgroup.id, name_for(cgroup.path));
  });
  return reported;
}

/// See CgroupNames::path_of.
std::string Tree::name_for(std::string path) const {
  if (!is_too_long(path)) return path;
  do path.resize(path.rfind('/'));
  while (is_too_long(path));
  return path + '/';
}

NameIndex::Presence Tree::presence_of(std::uint64_t id, const std::string& path) const {
  if (id == root_inode_) return NameIndex::Presence::kExists;
  const auto known = known_.find(path);
  if (known != known_.end() && known->second.inode == id) return NameIndex::Presence::kExists;
  for (std::string above = parent_of(path); !above.empty(); above = parent_of(above)) {
    if (unreadable_.contains(above)) return NameIndex::Presence::kUnknown;
  }
  return NameIndex::Presence::kGone;
}

/// Until a walk has succeeded, the next call retries. What it finds is known at once; what it does
/// not find is gone if the whole tree could be read.
Result<> Tree::reconcile(Clock::time_point now) {
  watch_.start_over();
  ++walk_;
  std::map<std::string, Error> unreadable = std::exchange(unreadable_, {});
  std::map<std::string, SkipCounts> skipped_in = std::exchange(skipped_in_, {});
  Walk walk;
  const Result<> entered = enter_root(walk);
  visits_.take(static_cast<double>(walk.visited), now);
  if (!entered) {
    unreadable_ = std::move(unreadable);
    skipped_in_ = std::move(skipped_in);
    return entered.error();
  }
  changed_ = changed_ || unreadable_ != unreadable;
  forget_unfound();
  if (watch_.finish()) missed_.clear();
  is_reconciled_ = true;
  reconciled_at_ = now;
  return {};
}

/// If another file system was mounted over the tree, or it was unmounted, its cgroups may still
/// exist.
Result<> Tree::enter_root(Walk& walk) {
  struct stat status {};
  if (::stat(root_.c_str(), &status) != 0) return cannot_read(errno, root_);
  if (device_.value_or(status.st_dev) != status.st_dev) {
    return Error{
        0,
        "not looking for new cgroups in '" + root_ + "': another file system is mounted there now",
        "unmount it, or mount the cgroup file system again and reload " + ProgramTerm::kProgram};
  }
  device_ = status.st_dev;
  if (root_inode_ && root_inode_ != status.st_ino) names_.end(*root_inode_);
  root_inode_ = status.st_ino;
  if (names_all_) names_.add(status.st_ino, "/");
  return enter("", walk);
}

void Tree::know(const std::string& path, const Directory& now) {
  const auto [at, is_new] = known_.try_emplace(path, now);
  const Directory before = std::exchange(at->second, now);
  if (before.is_followed != now.is_followed) places_of(before).remove(path);
  places_of(now).hold(path);
  if (!is_new && before == now) return;
  changed_ = true;
  changed_paths_.push_back(path);
  if (!names_all_) return;
  if (before.inode != now.inode) names_.end(before.inode);
  names_.add(now.inode, path);
}

void Tree::disappear(const std::string& path, const Directory& directory) {
  changed_ = true;
  changed_paths_.push_back(path);
  places_of(directory).remove(path);
  watch_.disappeared(path);
  if (names_all_) names_.end(directory.inode);
}

void Tree::forget_unfound() {
  std::erase_if(known_, [this](const auto& each) {
    if (each.second.walk == walk_) return false;
    disappear(each.first, each.second);
    return true;
  });
}

Tree::Skipped Tree::skipped() const {
  Skipped sum;
  const std::string* most_in = nullptr;
  const std::string* longest_in = nullptr;
  std::size_t most = 0;
  for (const auto& [path, skipped] : skipped_in_) {
    sum.beyond_limit += skipped.beyond_limit;
    sum.path_too_long += skipped.path_too_long;
    if (skipped.path_too_long > 0) longest_in = &path;
    if (skipped.beyond_limit <= most) continue;
    most = skipped.beyond_limit;
    most_in = &path;
  }
  const auto shown = [](const std::string& path) { return path.empty() ? "/" : path; };
  if (most_in != nullptr) sum.most_in = shown(*most_in);
  if (longest_in != nullptr) sum.longest_in = shown(*longest_in);
  return sum;
}

void Tree::apply(const TreeWatch::Change& change) {
  if (!names_all_ && !is_wanted(change.path)) return;
  change.kind == TreeWatch::Change::Kind::kAppeared ? appeared(change) : disappeared(change);
}

/// By the time inotify reports it, it may have been found in its parent, and be gone again. Then it
/// stays known until its removal is reported, too.
void Tree::appeared(const TreeWatch::Change& change) {
  const std::string& path = change.path;
  if (skipped_by_earlier_walks_.erase(std::hash<std::string>()(path)) > 0) return;
  const auto known = known_.find(path);
  const std::optional<std::uint64_t> inode = inode_of(root_ + path);
  if (!inode) {
    if (known == known_.end() && !is_missed(change)) mark_missed(path, change.watch);
    return;
  }
  if (known != known_.end() && known->second.inode == *inode) return;
  const std::string parent = parent_of(path);
  if (!parent.empty() && !known_.contains(parent)) return;  // displaced meanwhile
  erase(path);
  const std::size_t unreadable = unreadable_.size();
  Walk walk;
  if (!visit(path, *inode, walk)) is_reconciled_ = false;  // the next update walks the whole tree
  changed_ = changed_ || unreadable_.size() != unreadable;
}

/// A directory that exists although its removal was reported is another one: the removed one was
/// never seen.
void Tree::disappeared(const TreeWatch::Change& change) {
  const std::string& path = change.path;
  skipped_by_earlier_walks_.erase(std::hash<std::string>()(path));
  if (is_missed(change)) {
    missed_[change.watch].erase(path);
    return;
  }
  const auto known = known_.find(path);
  if (known == known_.end() && is_wanted(path) && was_skipped(path)) return;
  if (known == known_.end() || inode_of(root_ + path) == known->second.inode) {
    if (selection_.matches(path)) missed_paths_.push_back(path);
    return;
  }
  erase(path);
}

/// Subtracts one, as far as possible: their names are not kept.
bool Tree::was_skipped(const std::string& path) {
  const auto there = skipped_in_.find(parent_of(path));
  if (there == skipped_in_.end()) return false;
  std::size_t& skipped =
      is_too_long(path) ? there->second.path_too_long : there->second.beyond_limit;
  if (skipped == 0) return false;
  --skipped;
  const bool is_over = there->second.beyond_limit == 0 && there->second.path_too_long == 0;
  if (is_over) skipped_in_.erase(there);
  return true;
}

bool Tree::is_missed(const TreeWatch::Change& change) const {
  const auto of_watch = missed_.find(change.watch);
  return of_watch != missed_.end() && of_watch->second.contains(change.path);
}

void Tree::mark_missed(const std::string& path, std::optional<int> watch) {
  if (watch) missed_[*watch].insert(path);
  if (selection_.matches(path)) missed_paths_.push_back(path);
}

/// One that was forgotten with a directory above it is reported by inotify.
void Tree::forget(const std::string& path) {
  if (!known_.contains(path)) return;
  erase(path);
  mark_missed(path, watch_.watch_of(parent_of(path)));
}

/// With everything below it, which is one range in the order of paths.
void Tree::erase(const std::string& path) {
  const auto erase_from = [&](auto& map, const auto& erased) {
    const auto erase_range = [&](auto first, auto last) {
      for (auto each = first; each != last; ++each) erased(each->first, each->second);
      map.erase(first, last);
    };
    const auto [at, next] = map.equal_range(path);
    erase_range(at, next);
    erase_range(map.lower_bound(path + "/"), map.lower_bound(path + static_cast<char>('/' + 1)));
  };
  erase_from(unreadable_, [this](const auto&...) { changed_ = true; });
  erase_from(skipped_in_, [](const auto&...) {});
  erase_from(known_, [this](const auto& each, const auto& was) { disappear(each, was); });
}

/// A directory that has vanished meanwhile is no error, nor is another file system. A directory
/// that may not be read must not affect the others.
Result<> Tree::enter(const std::string& path, Walk& walk) {
  if (path.empty() || selection_.may_match_below(path)) watch_.add(root_ + path, path);
  const Result<std::vector<ChildDirectory>, int> children =
      child_directories(root_ + path, device_);
  if (!children) {
    const int code = children.error();
    if (!path.empty() && (code == ENOENT || code == EXDEV)) return {};
    Error why = cannot_read(code, root_ + path);
    if (path.empty() || !may_be_left_out(code)) return why;
    unreadable_.emplace(path, std::move(why));
    return {};
  }
  for (const ChildDirectory& child : *children) {
    Result<> visited = visit(path + "/" + child.name, child.inode, walk);
    if (!visited) return visited;
  }
  return {};
}

bool Tree::is_within_selected(std::string path) const {
  for (; !path.empty(); path = parent_of(path)) {
    const auto at = known_.find(path);
    if (at != known_.end() && at->second.is_selected) return true;
  }
  return false;
}

/// For the selection.
bool Tree::is_wanted(const std::string& path) const {
  if (selection_.may_match_below(path) || selection_.matches(path)) return true;
  const std::string parent = parent_of(path);
  return selection_.leaves && selection_.may_match_below(parent) && is_within_selected(parent);
}

Result<> Tree::visit(const std::string& path, std::uint64_t inode, Walk& walk) {
  const Directory now{inode, selection_.matches(path), is_wanted(path), walk_};
  if (!names_all_ && !now.is_followed) return {};
  ++walk.visited;
  if (is_too_long(path)) {
    if (now.is_followed) skip(path, &SkipCounts::path_too_long);
    if (names_all_) name_below(path, inode, walk);
    return {};
  }
  if (!has_place(path, now, walk)) {
    if (now.is_followed) skip(path, &SkipCounts::beyond_limit);
    return {};
  }
  know(path, now);
  const bool may_select = selection_.may_match_below(path);
  if (!may_select) watch_.remove(path);  // another selection may have watched it
  return may_select || names_all_ ? enter(path, walk) : Result<>{};
}

/// Names it and all below it after the directory above, as far as they can be read.
void Tree::name_below(const std::string& path, std::uint64_t inode, Walk& walk) {
  const std::string name = name_for(path);
  names_.report(inode, name);
  std::vector<std::string> unread{path};
  for (std::size_t room = limits_.directories; !unread.empty() && room > 0;) {
    const std::string next = std::move(unread.back());
    unread.pop_back();
    const auto children = child_directories(root_ + next, device_, room);
    if (!children) continue;
    room -= children->size();
    walk.visited += children->size();
    for (const ChildDirectory& child : *children) {
      names_.report(child.inode, name);
      unread.push_back(next + "/" + child.name);
    }
  }
}

/// A directory that is created between the watch on its parent and the listing of its parent is
/// reported as well.
void Tree::skip(const std::string& path, std::size_t SkipCounts::*reason) {
  ++(skipped_in_[parent_of(path)].*reason);
  if (skipped_by_walks_.size() + skipped_by_earlier_walks_.size() < limits_.directories) {
    skipped_by_walks_.insert(std::hash<std::string>()(path));
  }
}

/// Known directories keep their places, or series would appear and disappear with each walk.
bool Tree::has_place(const std::string& path, const Directory& now, Walk& walk) {
  if (walk.displaced.contains(path)) return false;
  const auto known = known_.find(path);
  if (known != known_.end() && known->second.is_followed == now.is_followed) return true;
  if (places_of(now).held() >= limits_.directories) {
    const std::optional<std::string> other = places_of(now).displaced_by(path);
    if (!other) return false;
    give_way(*other, walk);
  }
  return true;
}

/// Counts what the last walk has visited; all else is counted when the walk gets there.
void Tree::give_way(const std::string& path, Walk& walk) {
  const Directory& other = known_.at(path);
  const bool is_to_count = other.is_followed && other.walk == walk_;
  watch_.remove(path);
  erase(path);
  walk.displaced.insert(path);
  if (is_to_count) ++skipped_in_[parent_of(path)].beyond_limit;
}

}  // namespace pex::cgroup
