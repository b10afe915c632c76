#include "cgroup/log_links.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/directory.h"
#include "base/lookup.h"
#include "base/text.h"

namespace pex::cgroup {
namespace {

constexpr std::chrono::seconds kTryAgain{1};
constexpr std::chrono::minutes kListAnyway{1};

/// A later change may be in the same tick of the kernel's clock, and leave the stamp as it is. A
/// stamp of the future is from before the clock was set back.
bool is_recent(const FileStamp& stamp) {
  constexpr std::chrono::milliseconds kMaxTick{20};
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::abs(now - std::chrono::nanoseconds{stamp.nanoseconds}) < kMaxTick;
}

bool is_letter_or_digit(char c) { return ('a' <= c && c <= 'z') || is_digit(c); }

bool is_container_id(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), is_lower_hex_digit);
}

/// Bounded by the length of a file name.
bool is_dns_label(std::string_view text) {
  return !text.empty() && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '-' || is_letter_or_digit(c); });
}

bool is_dns_name(std::string_view text) {
  for (std::size_t dot = text.find('.'); dot != text.npos; dot = text.find('.')) {
    if (!is_dns_label(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_dns_label(text);
}

struct RemedyEntry {
  int code;
  Remedy remedy;
};

Remedy remedy_for(int code) {
  static const RemedyEntry kRemedies[] = {
      {ENOENT,
       "mount the node's /var/log/containers read-only and set its path in "
       "kubernetes.log_links, or write 'none' in kubernetes.metadata"},
      {ENOTDIR, "name the directory that holds the links in kubernetes.log_links"},
      {EACCES,
       "let " + ProgramTerm::kProgram + "'s user read the directory and enter those above it"},
      {EMFILE, "raise " + ProgramTerm::kOpenFileLimit},
  };
  const RemedyEntry* entry = lookup(kRemedies, &RemedyEntry::code, code);
  return entry != nullptr ? entry->remedy : Remedy();
}

}  // namespace

std::optional<LogLink> parse_log_link(std::string_view file_name) {
  constexpr std::string_view kSuffix = ".log";
  if (!file_name.ends_with(kSuffix)) return {};
  file_name.remove_suffix(kSuffix.size());

  const std::size_t dash = file_name.rfind('-');
  if (dash == file_name.npos) return {};
  const std::string_view id = file_name.substr(dash + 1);
  const std::string_view names = file_name.substr(0, dash);

  const std::size_t first = names.find('_');
  const std::size_t last = names.rfind('_');
  if (first == last) return {};  // equal, or neither exists
  const std::string_view pod = names.substr(0, first);
  const std::string_view namespace_name = names.substr(first + 1, last - first - 1);
  const std::string_view container = names.substr(last + 1);

  const bool is_one = is_container_id(id) && is_dns_name(pod) && is_dns_label(namespace_name) &&
                      is_dns_label(container);
  if (!is_one) return {};
  return LogLink{std::string(id),
                 {std::string(pod), std::string(namespace_name), std::string(container)}};
}

LogLinks::LogLinks(std::string directory, std::size_t max_entries)
    : directory_(std::move(directory)), max_entries_(max_entries) {}

LogLinks::Update LogLinks::update(Clock::time_point now) {
  const Result<FileStamp, int> stamp = stamp_of(directory_);
  const std::optional<FileStamp> known = stamp ? std::optional(*stamp) : std::nullopt;
  if (!is_due(known, now)) return {false, error_};
  listed_at_ = now;
  stamp_ = known;
  may_have_changed_ = known && is_recent(*known);
  return {list(), error_};
}

bool LogLinks::is_due(const std::optional<FileStamp>& stamp, Clock::time_point now) const {
  const bool is_unreadable = error_ && error_->code != 0;
  if (is_unreadable) return now - listed_at_ >= kTryAgain;
  return may_have_changed_ || stamp != stamp_ || now - listed_at_ >= kListAnyway;
}

void LogLinks::add_pod(const LogLink& link, const std::string& name, Names& pods) const {
  std::error_code is_none;
  const std::string target = std::filesystem::read_symlink(directory_ + "/" + name, is_none);
  const std::string before_uid = "/" + link.names.namespace_ + "_" + link.names.pod + "_";
  const std::size_t at = target.find(before_uid);
  if (is_none || at == target.npos) return;
  const std::size_t begin = at + before_uid.size();
  const std::size_t end = target.find('/', begin);
  if (end == target.npos || end == begin) return;
  pods.emplace(target.substr(begin, end - begin),
               PodContainer{link.names.pod, link.names.namespace_, {}});
}

bool LogLinks::list() {
  const auto names = list_directory(directory_, max_entries_ + 1);
  if (!names) {
    const Error& error = names.error();
    error_ = Error{error.code, error.attempted, remedy_for(error.code)};
    return false;
  }
  error_.reset();
  if (names->size() > max_entries_) error_ = too_many();

  Names containers;
  Names pods;
  for (const std::string& name : std::span(*names).first(std::min(names->size(), max_entries_))) {
    std::optional<LogLink> link = parse_log_link(name);
    if (!link) continue;
    add_pod(*link, name, pods);
    PodContainer& known =
        containers.try_emplace(std::move(link->container_id), link->names).first->second;
    if (link->names < known) known = std::move(link->names);
  }
  const bool changed = containers != containers_ || pods != pods_;
  containers_ = std::move(containers);
  pods_ = std::move(pods);
  return changed;
}

Error LogLinks::too_many() const {
  return Error{0,
               "not knowing all containers of '" + directory_ + "', which has more than " +
                   std::to_string(max_entries_) + " entries",
               "remove the entries that do not belong there"};
}

const PodContainer* LogLinks::find(std::string_view container_id) const {
  const auto names = containers_.find(container_id);
  return names != containers_.end() ? &names->second : nullptr;
}

const PodContainer* LogLinks::find_pod(std::string_view uid) const {
  const auto pod = pods_.find(uid);
  return pod != pods_.end() ? &pod->second : nullptr;
}

}  // namespace pex::cgroup
