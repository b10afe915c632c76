#include "cgroup/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace pex::cgroup {
namespace {

/// inotify reports every change; this bounds the error if it does not.
constexpr std::chrono::minutes kReconcileAnyway{1};

using Stream = std::unique_ptr<DIR, int (*)(DIR*)>;

bool is_child_directory(const dirent& entry) {
  return entry.d_type == DT_DIR && std::strcmp(entry.d_name, ".") != 0 &&
         std::strcmp(entry.d_name, "..") != 0;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Error cannot_read(int code, const std::string& directory) {
  return Error{code, "read cgroup directory '" + directory + "'",
               lacks_descriptors(code)
                   ? remedy_for_descriptors(code)
                   : "let " + ProgramTerm::kProgram + "'s user read it, or exclude it"};
}

}  // namespace

bool lacks_descriptors(int code) { return code == EMFILE || code == ENFILE; }

Remedy remedy_for_descriptors(int code) {
  if (code == ENFILE) return "raise fs.file-max";
  return "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n";
}

bool may_be_left_out(int code) { return code == EACCES || code == EPERM || code == ENAMETOOLONG; }

/// A byte that is not UTF-8, or a control character, is published as five or more.
bool is_path_too_long(const std::string& path, std::size_t bytes) {
  constexpr std::size_t kMaxBytesPerByte = 5;
  return path.size() > bytes ||
         (path.size() > bytes / kMaxBytesPerByte && as_label_value(path).size() > bytes);
}

bool Tree::is_too_long(const std::string& path) const {
  return is_path_too_long(path, limits_.path_bytes);
}

Result<std::vector<ChildDirectory>, int> child_directories(const std::string& directory,
                                                           std::optional<dev_t> device,
                                                           std::size_t most) {
  UniqueFd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return errno;
  struct stat status {};
  if (device && ::fstat(fd.get(), &status) != 0) return errno;
  if (device && status.st_dev != *device) return EXDEV;
  const Stream stream{::fdopendir(fd.get()), &::closedir};
  if (!stream) return errno;
  (void)fd.release();  // the stream closes it
  std::vector<ChildDirectory> children;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return errno;
    if (entry == nullptr || children.size() == most) return children;
    if (is_child_directory(*entry)) children.push_back({entry->d_name, entry->d_ino});
  }
}

std::optional<std::uint64_t> inode_of(const std::string& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  return status.st_ino;
}

Tree::Tree(std::string root, Selection selection, Limits limits)
    : root_(std::move(root)),
      selection_(std::move(selection)),
      limits_(limits),
      watch_(limits.watches),
      visits_({kVisitsPerSecond, static_cast<double>(limits.directories)}) {}

Result<bool> Tree::update(Clock::time_point now) {
  const TreeWatch::Changes changes = watch_.take(now);
  skipped_by_earlier_walks_.merge(std::exchange(skipped_by_walks_, {}));
  for (const TreeWatch::Change& change : changes.each) changed_ = apply(change) || changed_;
  for (const int watch : changes.ended) missed_.erase(watch);
  if (changes.are_all) skipped_by_earlier_walks_.clear();
  overflowed_ = overflowed_ || changes.were_lost;
  if (changes.are_unknown) missed_.clear();  // the removal of some of them may never be reported
  if (changes.are_unknown || now - reconciled_at_ >= kReconcileAnyway) is_reconciled_ = false;
  if (!is_reconciled_ && visits_.tokens(now) > 0) {
    if (const Result<> reconciled = reconcile(now); !reconciled) return reconciled.error();
  }
  return std::exchange(changed_, false);
}

void Tree::select(Selection selection) {
  selection_ = std::move(selection);
  is_reconciled_ = false;
}

/// Until a walk has succeeded, the next call retries.
Result<> Tree::reconcile(Clock::time_point now) {
  watch_.start_over();
  Walk walk;
  const Result<> entered = enter_root(walk);
  visits_.take(static_cast<double>(walk.visited), now);
  if (!entered) {
    restore_places();
    return entered.error();
  }
  if (watch_.finish()) missed_.clear();
  is_reconciled_ = true;
  reconciled_at_ = now;
  changed_ = changed_ || walk.found != known_ || walk.unreadable != unreadable_;
  replace_known(std::move(walk.found));
  unreadable_ = std::move(walk.unreadable);
  skipped_in_ = std::move(walk.skipped);
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
  return enter("", walk);
}

/// Both are in the order of paths.
void Tree::replace_known(Directories now) {
  const auto disappeared = [this](const std::string& path) {
    changed_paths_.push_back(path);
    places_.remove(path);
    watch_.disappeared(path);
  };
  auto old = known_.cbegin();
  for (const auto& [path, directory] : now) {
    for (; old != known_.cend() && old->first < path; ++old) disappeared(old->first);
    const bool was_known = old != known_.cend() && old->first == path;
    if (!was_known || old->second != directory) changed_paths_.push_back(path);
    if (was_known) ++old;
  }
  for (; old != known_.cend(); ++old) disappeared(old->first);
  known_ = std::move(now);
}

/// Reverts the results of a failed walk.
void Tree::restore_places() {
  places_ = {};
  for (const auto& [path, directory] : known_) places_.hold(path);
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

std::vector<std::string> Tree::take_changed_paths() { return std::exchange(changed_paths_, {}); }

bool Tree::apply(const TreeWatch::Change& change) {
  const std::string& path = change.path;
  if (!is_wanted(path, {})) return false;
  return change.kind == TreeWatch::Change::Kind::kAppeared ? appeared(change) : disappeared(change);
}

/// By the time inotify reports it, it may have been found in its parent, and be gone again. Then it
/// stays known until its removal is reported, too.
bool Tree::appeared(const TreeWatch::Change& change) {
  const std::string& path = change.path;
  if (skipped_by_earlier_walks_.erase(std::hash<std::string>()(path)) > 0) return false;
  const auto known = known_.find(path);
  const std::optional<std::uint64_t> inode = inode_of(root_ + path);
  if (!inode) {
    if (known == known_.end() && !is_missed(change)) mark_missed(path, change.watch);
    return false;
  }
  if (known != known_.end() && known->second.inode == *inode) return false;
  const std::string parent = parent_of(path);
  if (!parent.empty() && !known_.contains(parent)) return false;  // displaced meanwhile
  const bool was_known = erase(path);
  Walk walk;
  if (!visit(path, *inode, walk)) is_reconciled_ = false;  // the next update walks the whole tree
  for (const std::string& gone : walk.displaced) erase(gone);
  const bool is_new = !walk.found.empty() || !walk.unreadable.empty() || !walk.displaced.empty();
  for (const auto& [found, directory] : walk.found) changed_paths_.push_back(found);
  known_.merge(walk.found);
  unreadable_.merge(walk.unreadable);
  for (const auto& [directory, skipped] : walk.skipped) add_skipped(directory, skipped);
  return was_known || is_new;
}

void Tree::add_skipped(const std::string& directory, const SkipCounts& more) {
  SkipCounts& there = skipped_in_[directory];
  there.beyond_limit += more.beyond_limit;
  there.path_too_long += more.path_too_long;
}

/// A directory that exists although its removal was reported is another one: the removed one was
/// never seen.
bool Tree::disappeared(const TreeWatch::Change& change) {
  const std::string& path = change.path;
  skipped_by_earlier_walks_.erase(std::hash<std::string>()(path));
  if (is_missed(change)) {
    missed_[change.watch].erase(path);
    return false;
  }
  const auto known = known_.find(path);
  if (known == known_.end() && was_skipped(path)) return false;
  if (known == known_.end() || inode_of(root_ + path) == known->second.inode) {
    if (selection_.matches(path)) missed_paths_.push_back(path);
    return false;
  }
  return erase(path);
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

void Tree::forget(const std::string& path) {
  changed_ = erase(path) || changed_;
  mark_missed(path, watch_.watch_of(parent_of(path)));
}

bool Tree::take_overflow() { return std::exchange(overflowed_, false); }

std::vector<std::string> Tree::take_missed_paths() { return std::exchange(missed_paths_, {}); }

/// With everything below it, which is one range in the order of paths.
bool Tree::erase(const std::string& path) {
  const auto erase_from = [&](auto& map, const auto& erased) {
    const auto below = map.lower_bound(path + "/");
    const auto behind = map.lower_bound(path + static_cast<char>('/' + 1));
    const bool any = below != behind;
    for (auto each = below; each != behind; ++each) erased(each->first);
    map.erase(below, behind);
    if (map.erase(path) == 0) return any;
    erased(path);
    return true;
  };
  const bool was_unreadable = erase_from(unreadable_, [](const std::string&) {});
  erase_from(skipped_in_, [](const std::string&) {});
  const auto disappeared = [this](const std::string& gone) {
    changed_paths_.push_back(gone);
    places_.remove(gone);
    watch_.disappeared(gone);
  };
  return erase_from(known_, disappeared) || was_unreadable;
}

/// A directory that has vanished meanwhile is no error. A directory that may not be read must not
/// affect the others.
Result<> Tree::enter(const std::string& path, Walk& walk) {
  watch_.add(root_ + path, path);
  const Result<std::vector<ChildDirectory>, int> children = child_directories(root_ + path);
  if (!children) {
    const int code = children.error();
    if (!path.empty() && code == ENOENT) return {};
    Error why = cannot_read(code, root_ + path);
    if (path.empty() || !may_be_left_out(code)) return why;
    walk.unreadable.emplace(path, std::move(why));
    return {};
  }
  for (const ChildDirectory& child : *children) {
    Result<> visited = visit(path + "/" + child.name, child.inode, walk);
    if (!visited) return visited;
  }
  return {};
}

/// `found` are those of a walk, which has been above before.
bool Tree::is_within_selected(std::string path, const Directories& found) const {
  for (; !path.empty(); path = parent_of(path)) {
    const bool is_found = found.contains(path);
    const auto at = is_found ? found.find(path) : known_.find(path);
    if ((is_found || at != known_.end()) && at->second.is_selected) return true;
  }
  return false;
}

bool Tree::is_wanted(const std::string& path, const Directories& found) const {
  return selection_.may_match_below(path) || selection_.matches(path) ||
         (selection_.leaves && is_within_selected(parent_of(path), found));
}

Result<> Tree::visit(const std::string& path, std::uint64_t inode, Walk& walk) {
  if (!is_wanted(path, walk.found)) return {};
  const bool is_selected = selection_.matches(path);
  const bool is_entered = selection_.may_match_below(path);
  ++walk.visited;
  if (is_too_long(path)) {
    skip(path, &SkipCounts::path_too_long, walk);
    return {};
  }
  if (!has_place(path, walk)) {
    skip(path, &SkipCounts::beyond_limit, walk);
    return {};
  }
  walk.found.emplace(path, Directory{inode, is_selected});
  return is_entered ? enter(path, walk) : Result<>{};
}

/// A directory that is created between the watch on its parent and the listing of its parent is
/// reported as well.
void Tree::skip(const std::string& path, std::size_t SkipCounts::*reason, Walk& walk) {
  ++(walk.skipped[parent_of(path)].*reason);
  if (skipped_by_walks_.size() + skipped_by_earlier_walks_.size() < limits_.directories) {
    skipped_by_walks_.insert(std::hash<std::string>()(path));
  }
}

/// Known directories keep their places, or series would appear and disappear with each walk.
bool Tree::has_place(const std::string& path, Walk& walk) {
  if (walk.displaced.contains(path)) return false;
  if (known_.contains(path)) return true;
  if (places_.held() >= limits_.directories) {
    const std::optional<std::string> other = places_.displaced_by(path);
    if (!other) return false;
    give_way(*other, walk);
  }
  places_.hold(path);
  return true;
}

/// Counts what this walk has visited; all else is counted when the walk gets there.
void Tree::give_way(const std::string& path, Walk& walk) {
  places_.remove(path);
  watch_.remove(path);
  walk.unreadable.erase(path);
  walk.skipped.erase(path);
  walk.displaced.insert(path);
  if (walk.found.erase(path) > 0 || is_reconciled_) ++walk.skipped[parent_of(path)].beyond_limit;
}

}  // namespace pex::cgroup
