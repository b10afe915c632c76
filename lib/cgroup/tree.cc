#include "cgroup/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace pex::cgroup {
namespace {

/// The watch tells of every change; this bounds the damage should it ever not.
constexpr std::chrono::minutes kLookAnyway{1};

using Stream = std::unique_ptr<DIR, int (*)(DIR*)>;

struct Child {
  std::string name;
  std::uint64_t inode = 0;
};

bool is_child_directory(const dirent& entry) {
  return entry.d_type == DT_DIR && std::strcmp(entry.d_name, ".") != 0 &&
         std::strcmp(entry.d_name, "..") != 0;
}

/// Fails with the errno of opening or reading it.
Result<std::vector<Child>, int> children_of(const std::string& directory) {
  UniqueFd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return errno;
  const Stream stream{::fdopendir(fd.get()), &::closedir};
  if (!stream) return errno;
  (void)fd.release();  // the stream closes it
  std::vector<Child> children;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return errno;
    if (entry == nullptr) return children;
    if (is_child_directory(*entry)) children.push_back({entry->d_name, entry->d_ino});
  }
}

/// Of the directory that has this name now.
std::optional<std::uint64_t> inode_of(const std::string& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  return status.st_ino;
}

bool may_be_left_out(int code) { return code == EACCES || code == EPERM || code == ENAMETOOLONG; }

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// A byte that is no UTF-8 is published as five.
bool is_too_long(const std::string& path) {
  constexpr std::size_t kMaxBytesPerByte = 5;
  return path.size() > Tree::kMaxPathBytes ||
         (path.size() > Tree::kMaxPathBytes / kMaxBytesPerByte &&
          as_utf8(path).size() > Tree::kMaxPathBytes);
}

Error cannot_read(int code, const std::string& directory) {
  return Error{code, "read cgroup directory '" + directory + "'",
               wants_descriptor(code)
                   ? "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n"
                   : "let " + ProgramTerm::kProgram + "'s user read it, or exclude it"};
}

}  // namespace

bool wants_descriptor(int code) { return code == EMFILE || code == ENFILE; }

Tree::Tree(std::string root, Selection selection, Limits limits)
    : root_(std::move(root)),
      selection_(std::move(selection)),
      limits_(limits),
      watch_(limits.watches),
      looks_(kLooksPerSecond, static_cast<double>(limits.directories)) {}

Result<bool> Tree::update(Clock::time_point now) {
  const TreeWatch::Changes changes = watch_.take(now);
  for (const TreeWatch::Change& change : changes.each) changed_ = apply(change) || changed_;
  overflowed_ = overflowed_ || changes.were_lost;
  if (changes.are_unknown) missed_.clear();  // the end of some of them may never be told
  if (changes.are_unknown || now - looked_at_ >= kLookAnyway) looked_ = false;
  if (!looked_ && looks_.allows(now)) {
    if (const Result<> looked = look_everywhere(now); !looked) return looked.error();
  }
  return std::exchange(changed_, false);
}

/// Until it has succeeded, the next call tries again.
Result<> Tree::look_everywhere(Clock::time_point now) {
  watch_.start_over();
  Look look;
  const Result<> entered = enter_root(look);
  looks_.take(static_cast<double>(look.visited), now);
  if (!entered) {
    restore_places();
    return entered.error();
  }
  if (watch_.finish()) missed_.clear();
  looked_ = true;
  looked_at_ = now;
  changed_ = changed_ || look.found != known_ || look.unreadable != unreadable_;
  replace_known(std::move(look.found));
  unreadable_ = std::move(look.unreadable);
  skipped_in_ = std::move(look.skipped);
  return {};
}

/// When another file system was mounted over the tree, or it was unmounted, its cgroups may all
/// still exist.
Result<> Tree::enter_root(Look& look) {
  struct stat status {};
  if (::stat(root_.c_str(), &status) != 0) return cannot_read(errno, root_);
  if (device_.value_or(status.st_dev) != status.st_dev) {
    return Error{
        0,
        "not looking for new cgroups in '" + root_ + "': another file system is mounted there now",
        "unmount it, or mount the cgroup file system again and reload " + ProgramTerm::kProgram};
  }
  device_ = status.st_dev;
  return enter("", look);
}

/// Both are in the order of paths.
void Tree::replace_known(Directories now) {
  const auto went = [this](const std::string& path) {
    changed_paths_.push_back(path);
    places_.remove(path);
  };
  auto old = known_.cbegin();
  for (const auto& [path, directory] : now) {
    for (; old != known_.cend() && old->first < path; ++old) went(old->first);
    const bool was_known = old != known_.cend() && old->first == path;
    if (!was_known || old->second != directory) changed_paths_.push_back(path);
    if (was_known) ++old;
  }
  for (; old != known_.cend(); ++old) went(old->first);
  known_ = std::move(now);
}

/// As if what was found by a look that failed had never been.
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
  if (!selection_.may_match_below(path) && !selection_.matches(path)) return false;
  return change.kind == TreeWatch::Change::Kind::kCame ? came(path) : went(path);
}

/// By the time this is told it may have been found in its parent, and be gone again. Then it is
/// known until that is told, too.
bool Tree::came(const std::string& path) {
  const auto known = known_.find(path);
  const std::optional<std::uint64_t> inode = inode_of(root_ + path);
  if (!inode) {
    if (known == known_.end() && !missed_.contains(path)) miss(path);
    return false;
  }
  if (known != known_.end() && known->second.inode == *inode) return false;
  const std::string parent = parent_of(path);
  if (!parent.empty() && !known_.contains(parent)) return false;  // it has given way meanwhile
  const bool was_known = erase(path);
  Look look;
  if (!visit(path, *inode, look)) looked_ = false;  // all is looked at next time
  for (const std::string& gone : look.gave_way) erase(gone);
  const bool is_new = !look.found.empty() || !look.unreadable.empty() || !look.gave_way.empty();
  for (const auto& [found, directory] : look.found) changed_paths_.push_back(found);
  known_.merge(look.found);
  unreadable_.merge(look.unreadable);
  for (const auto& [directory, skipped] : look.skipped) add_skipped(directory, skipped);
  return was_known || is_new;
}

void Tree::add_skipped(const std::string& directory, const LeftThere& more) {
  LeftThere& there = skipped_in_[directory];
  there.beyond_limit += more.beyond_limit;
  there.path_too_long += more.path_too_long;
}

/// A directory that is there although it went is another one: the one that went was never seen.
bool Tree::went(const std::string& path) {
  if (missed_.erase(path) > 0) return false;
  const auto known = known_.find(path);
  if (known == known_.end() && was_skipped(path)) return false;
  if (known == known_.end() || inode_of(root_ + path) == known->second.inode) {
    missed_count_ += selection_.matches(path) ? 1 : 0;
    return false;
  }
  return erase(path);
}

/// One of those, as far as that is known: their names are not kept.
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

void Tree::miss(const std::string& path) {
  missed_.insert(path);
  missed_count_ += selection_.matches(path) ? 1 : 0;
}

void Tree::forget(const std::string& path) {
  changed_ = erase(path) || changed_;
  miss(path);
}

bool Tree::take_overflow() { return std::exchange(overflowed_, false); }

std::uint64_t Tree::take_missed() { return std::exchange(missed_count_, 0); }

/// With all below it, which in the order of paths is one range.
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
  const auto went = [this](const std::string& gone) {
    changed_paths_.push_back(gone);
    places_.remove(gone);
    watch_.went(gone);
  };
  return erase_from(known_, went) || was_unreadable;
}

/// A directory that has vanished meanwhile is no failure: it is what we came to learn. One whose
/// owner keeps it to himself must not cost the others.
Result<> Tree::enter(const std::string& path, Look& look) {
  watch_.add(root_ + path, path);
  const Result<std::vector<Child>, int> children = children_of(root_ + path);
  if (!children) {
    const int code = children.error();
    if (!path.empty() && code == ENOENT) return {};
    Error why = cannot_read(code, root_ + path);
    if (path.empty() || !may_be_left_out(code)) return why;
    look.unreadable.emplace(path, std::move(why));
    return {};
  }
  for (const Child& child : *children) {
    Result<> visited = visit(path + "/" + child.name, child.inode, look);
    if (!visited) return visited;
  }
  return {};
}

Result<> Tree::visit(const std::string& path, std::uint64_t inode, Look& look) {
  const bool is_selected = selection_.matches(path);
  const bool is_entered = selection_.may_match_below(path);
  if (!is_selected && !is_entered) return {};
  ++look.visited;
  if (is_too_long(path)) {
    ++look.skipped[parent_of(path)].path_too_long;
    return {};
  }
  if (!has_place(path, look)) {
    ++look.skipped[parent_of(path)].beyond_limit;
    return {};
  }
  look.found.emplace(path, Directory{inode, is_selected});
  return is_entered ? enter(path, look) : Result<>{};
}

/// Those that are known keep their places, or series would come and go with each look.
bool Tree::has_place(const std::string& path, Look& look) {
  if (look.gave_way.contains(path)) return false;
  if (known_.contains(path)) return true;
  if (places_.held() >= limits_.directories) {
    const std::optional<std::string> other = places_.gives_way_to(path);
    if (!other) return false;
    give_way(*other, look);
  }
  places_.hold(path);
  return true;
}

/// What has been looked at is counted now, all else when its turn comes.
void Tree::give_way(const std::string& path, Look& look) {
  places_.remove(path);
  watch_.remove(path);
  look.unreadable.erase(path);
  look.skipped.erase(path);
  look.gave_way.insert(path);
  if (look.found.erase(path) > 0 || looked_) ++look.skipped[parent_of(path)].beyond_limit;
}

}  // namespace pex::cgroup
