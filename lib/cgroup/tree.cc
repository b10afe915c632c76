#include "cgroup/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

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

Error cannot_read(int code, const std::string& directory) {
  return Error{code, "read cgroup directory '" + directory + "'",
               wants_descriptor(code) ? "raise LimitNOFILE= in the unit, or ulimit -n"
                                      : "let the exporter's user read it, or exclude it"};
}

}  // namespace

bool wants_descriptor(int code) { return code == EMFILE || code == ENFILE; }

Tree::Tree(std::string root, Selection selection)
    : root_(std::move(root)), selection_(std::move(selection)) {}

Result<bool> Tree::update(Clock::time_point now) {
  const TreeWatch::Changes changes = watch_.take();
  for (const TreeWatch::Change& change : changes.each) changed_ = apply(change) || changed_;
  overflowed_ = overflowed_ || changes.were_lost;
  if (changes.are_unknown) missed_.clear();  // the end of some of them may never be told
  if (!looked_ || changes.are_unknown || now - looked_at_ >= kLookAnyway) {
    looked_ = false;  // until it has succeeded, the next call tries again
    if (const Result<> looked = look_everywhere(); !looked) return looked.error();
    looked_at_ = now;
  }
  return std::exchange(changed_, false);
}

Result<> Tree::look_everywhere() {
  watch_.start_over();
  Look look;
  if (const Result<> entered = enter("", look); !entered) return entered.error();
  looked_ = true;
  changed_ = changed_ || look.found != known_ || look.unreadable != unreadable_;
  replace_known(std::move(look.found));
  unreadable_ = std::move(look.unreadable);
  return {};
}

/// Both are in the order of paths.
void Tree::replace_known(Directories now) {
  auto old = known_.cbegin();
  for (const auto& [path, directory] : now) {
    for (; old != known_.cend() && old->first < path; ++old) changed_paths_.push_back(old->first);
    const bool was_known = old != known_.cend() && old->first == path;
    if (!was_known || old->second != directory) changed_paths_.push_back(path);
    if (was_known) ++old;
  }
  for (; old != known_.cend(); ++old) changed_paths_.push_back(old->first);
  known_ = std::move(now);
}

std::vector<std::string> Tree::take_changed_paths() { return std::exchange(changed_paths_, {}); }

bool Tree::apply(const TreeWatch::Change& change) {
  const std::string& path = change.path;
  if (!selection_.matches(path) && !selection_.may_match_below(path)) return false;
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
  erase(path);
  Look look;
  if (!visit(path, *inode, look)) looked_ = false;  // all is looked at next time
  for (const auto& [found, directory] : look.found) changed_paths_.push_back(found);
  known_.merge(look.found);
  unreadable_.merge(look.unreadable);
  return true;
}

/// A directory that is there although it went is another one: the one that went was never seen.
bool Tree::went(const std::string& path) {
  if (missed_.erase(path) > 0) return false;
  const auto known = known_.find(path);
  if (known == known_.end() || inode_of(root_ + path) == known->second.inode) {
    missed_count_ += selection_.matches(path) ? 1 : 0;
    return false;
  }
  return erase(path);
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
  return erase_from(known_, [this](const std::string& gone) { changed_paths_.push_back(gone); }) ||
         was_unreadable;
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
  if (is_selected || is_entered) look.found.emplace(path, Directory{inode, is_selected});
  return is_entered ? enter(path, look) : Result<>{};
}

}  // namespace pex::cgroup
