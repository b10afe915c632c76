#include "cgroup/use/uncounted_use.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "base/utf8.h"

namespace pex::cgroup {
namespace {

using Time = UncountedUse::Time;

/// To list a directory takes time, too.
constexpr std::size_t kNamesPerRead = 16;

constexpr std::uint32_t kDelete = 0x7f;

/// The account of the root is so far behind at most: more is time that it lacks, and not noise.
constexpr std::chrono::seconds kMaxBehind{2};

/// Counted cgroups among the children of a directory are not limited by kMaxChildren.
constexpr std::size_t kMaxListed = 10'000;

double seconds(std::chrono::duration<double> time) { return time.count(); }

std::string_view above(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// Whether one above `path` is among `paths`.
bool is_inside(std::string_view path, const std::unordered_set<std::string_view>& paths) {
  while (!path.empty()) {
    path = above(path);
    if (paths.contains(path)) return true;
  }
  return false;
}

constexpr std::string_view kDigits = "0123456789";
/// In a pattern, or in YAML: a tenant chooses names.
constexpr std::string_view kSpecial = "*?'\"[]{},#";

bool is_part_of_word(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || kDigits.find(c) != kDigits.npos;
}

/// A number, or a part of an id such as those of containers and UUIDs.
bool varies(std::string_view word) {
  constexpr std::size_t kMinId = 4;
  if (word.find_first_of(kDigits) == word.npos) return false;
  return word.find_first_not_of(kDigits) == word.npos ||
         (word.size() >= kMinId && word.find_first_not_of("0123456789abcdef") == word.npos);
}

}  // namespace

std::optional<Time> UncountedUse::read(const std::string& path) {
  ++reads_;
  return cpu_time_(path);
}

/// Since the last update. What one did before its counters were open is not counted. What one did
/// after its last reading, until it ended, is known from its counters only. Of one that was not
/// among the outermost, and is not new, nothing is known but what follows.
Time UncountedUse::growth_of(const Counted& cgroup) {
  const auto [at, is_first] = known_.try_emplace(cgroup.path);
  Known& known = at->second;
  if (is_first && !cgroup.is_new) known.counted = cgroup.counted;
  const std::optional<Time> counted_before = std::exchange(known.counted, cgroup.counted);
  const Time counted =
      std::max(cgroup.counted.value_or(Time{}) - counted_before.value_or(Time{}), {});
  const bool has_rested =
      cgroup.state == Counted::State::kIdle || (cgroup.counted && cgroup.counted == counted_before);
  if (has_rested && known.used) return {};
  const std::optional<Time> used =
      cgroup.state == Counted::State::kEnded ? std::nullopt : read(cgroup.path);
  const std::optional<Time> before = std::exchange(known.used, used);
  return used && before && *used >= *before ? *used - *before : counted;
}

/// Returns the growth of all of them, without those inside of another one.
Time UncountedUse::add_counted(const std::vector<Counted>& counted) {
  std::unordered_set<std::string_view> existing;
  std::unordered_set<std::string_view> all_paths;
  for (const Counted& cgroup : counted) {
    all_paths.insert(cgroup.path);
    if (cgroup.state != Counted::State::kEnded) existing.insert(cgroup.path);
  }
  inside_.clear();
  Time all{};
  std::unordered_map<std::string, Known> before = std::exchange(known_, {});
  for (const Counted& cgroup : counted) {
    const bool has_ended = cgroup.state == Counted::State::kEnded;
    if (is_inside(cgroup.path, has_ended ? all_paths : existing)) continue;
    if (auto known = before.extract(cgroup.path)) known_.insert(std::move(known));
    const Time growth = growth_of(cgroup);
    all += growth;
    for (std::string_view path = cgroup.path; !path.empty(); path = above(path)) {
      inside_[std::string(path)] += growth;
    }
  }
  return all;
}

std::optional<UncountedUse::Use> UncountedUse::update(const std::vector<Counted>& counted,
                                                      Clock::time_point now) {
  reads_ = counted.size() / kNamesPerRead;
  const std::optional<Time> root = read({});
  const Time of_counted = add_counted(counted);
  const std::optional<Time> before = std::exchange(root_, root);
  const double span = seconds(now - std::exchange(updated_at_, now));
  if (root) {
    const bool is_known = before && *root >= *before;
    const Time machine = is_known ? *root - *before : Time{};
    const Time part = machine - of_counted;
    use_.rate.reset();
    if (is_known) {
      sum_ = std::max<Time>(sum_ + part, use_.total - kMaxBehind);
      use_.total = std::max(use_.total, sum_);
      use_.machine += machine;
    }
    if (is_known && machine > Time{}) {
      const double share = std::max(seconds(part) / seconds(machine), 0.0);
      use_.rate = Rate{share * seconds(machine) / span, share};
    }
    Node of_root{.path = {}, .part = {}, .at_most = is_known ? part : *root};
    if (is_known) of_root.part = part;
    use_.largest = find_largest(std::move(of_root), is_known ? machine : *root);
    for (Part& each : use_.largest) {
      each.rate.cpus = each.rate.share * seconds(machine) / span;
      each.rate.share = std::min(each.rate.share, 1.0);  // that of the root is sampled
    }
  }
  const std::chrono::duration<double> pause{static_cast<double>(reads_) / kReadsPerSecond};
  due_ = now +
         std::max<Clock::duration>(kMinBetween, std::chrono::duration_cast<Clock::duration>(pause));
  return root ? std::optional(use_) : std::nullopt;
}

/// From the root down, always into the directory that has most, as far as the readings suffice.
/// Also into those that counted cgroups are in: a cgroup next to them that begins to work is known
/// then.
std::vector<UncountedUse::Part> UncountedUse::find_largest(Node root, Time machine) {
  const Time least = machine / 100;
  const std::size_t last_read = reads_ + kMaxReadsOfUncounted;
  std::vector<Part> parts;
  const auto add = [&](const std::string& path, Time part, bool is_of_all_below) {
    if (part < least || part <= Time{} || machine <= Time{}) return;
    const double share = seconds(part) / seconds(machine);
    parts.push_back({path.empty() ? "/" : path, {0, share}, is_of_all_below});
  };
  reading_.clear();
  std::priority_queue<Node> next;
  for (next.push(std::move(root)); !next.empty();) {
    const Node node = next.top();
    next.pop();
    const bool may_have_part = node.at_most > Time{} || inside_.contains(node.path);
    if (!may_have_part && !node.path.empty()) continue;
    Time rest = node.part.value_or(Time{});
    const bool is_cut_off = reads_ >= last_read;
    if (is_cut_off && rest < least) continue;
    std::vector<std::string> paths = children_(node.path, is_cut_off ? 1 : kMaxListed);
    reads_ += paths.size() / kNamesPerRead;
    std::erase_if(paths, [this](const std::string& path) { return known_.contains(path); });
    if (is_cut_off || paths.size() > kMaxChildren) {
      add(node.path, rest, !paths.empty());
      continue;
    }
    bool are_known = true;
    for (Node& child : children_of(node, paths)) {
      rest -= child.part.value_or(Time{});
      are_known = are_known && child.part;
      next.push(std::move(child));
    }
    add(node.path, rest, !are_known);
  }
  read_ = std::exchange(reading_, {});
  const auto is_larger = [](const Part& a, const Part& b) { return a.rate.share > b.rate.share; };
  std::stable_sort(parts.begin(), parts.end(), is_larger);
  parts.resize(std::min(parts.size(), kMaxParts));
  return parts;
}

/// Those that are not counted themselves.
std::vector<UncountedUse::Node> UncountedUse::children_of(const Node& node,
                                                          const std::vector<std::string>& paths) {
  std::vector<Node> children;
  for (const std::string& path : paths) {
    const std::optional<Time> used = read(path);
    if (!used) continue;
    reading_.emplace(path, *used);
    Node& child = children.emplace_back(Node{.path = path, .part = {}});
    child.at_most = std::min(*used, node.at_most);
    const auto before = read_.find(path);
    if (before == read_.end()) continue;
    const auto counted = inside_.find(path);
    const Time growth = std::max(*used - before->second, Time{});
    child.part = growth - (counted == inside_.end() ? Time{} : counted->second);
    child.at_most = *child.part;
  }
  return children;
}

std::string UncountedUse::Part::text() const {
  if (!is_of_all_below) return path;
  return (path == "/" ? "" : path) + "/**";
}

std::string pattern_for(std::string_view path) {
  std::string pattern;
  while (!path.empty()) {
    const auto end = std::find_if_not(path.begin(), path.end(), is_part_of_word);
    const auto word = path.substr(0, static_cast<std::size_t>(end - path.begin()));
    pattern += varies(word) ? "*" : std::string(word);
    path.remove_prefix(word.size());
    if (path.empty()) break;
    const Character next = first_character(path);
    const bool is_text = next.bytes > 0 && next.code >= ' ' && next.code != kDelete &&
                         kSpecial.find(path.front()) == kSpecial.npos;
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    pattern += is_text ? std::string(path.substr(0, bytes)) : "?";
    path.remove_prefix(bytes);
  }
  return pattern;
}

std::string why_uncounted(const UncountedUse::Part& part, const Selection& selection) {
  if (part.path == "/") {
    if (part.is_of_all_below) return "cgroups below the root, kernel threads and interrupts";
    return "kernel threads, interrupts, and processes in the root cgroup: groups of scope cpu "
           "count them";
  }
  const std::string path = part.path + (part.is_of_all_below ? "/x" : "");
  const Verdict verdict = selection.judge(path);
  if (verdict.is_selected()) {
    return "a limit leaves it out, 'nesting: leaves' replaces it by the cgroups in it, or no event "
           "can be counted by cgroup";
  }
  if (verdict.reason != Verdict::Reason::kNotIncluded) return describe(verdict);
  const std::string pattern = pattern_for(part.path) + (part.is_of_all_below ? "/**" : "");
  return describe(verdict) + "; add '" + pattern + "' to it to count it";
}

}  // namespace pex::cgroup
