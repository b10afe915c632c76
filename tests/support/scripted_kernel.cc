#include "support/scripted_kernel.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <utility>

#include "events/event_table.h"

namespace pex::test {
namespace {

/// Of the events of the tables, whatever their modifiers.
std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> names_of_tables() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> names;
  for (const events::GenericEvent& row : events::generic_events()) {
    names.try_emplace({row.type, row.config}, row.name);
  }
  for (const events::CacheEvent& event : events::cache_events()) {
    names.try_emplace({PERF_TYPE_HW_CACHE, event.config}, event.name);
  }
  return names;
}

/// The canonical name of what is asked for.
std::string event_name(const perf::EventAttributes& asked) {
  static const auto names = names_of_tables();
  const auto known = names.find({asked.type, asked.config});
  if (known == names.end()) {
    std::ostringstream name;
    name << "type" << asked.type << ":0x" << std::hex << asked.config;
    return name.str();
  }
  std::string modes;
  if (asked.exclude_hypervisor || asked.exclude_kernel || asked.exclude_user) {
    modes = ":";
    if (!asked.exclude_user) modes += 'u';
    if (!asked.exclude_kernel) modes += 'k';
  }
  return known->second + modes;
}

constexpr std::uint64_t kSlots = 0x0400;

/// topdown-retiring, ... of a core PMU of Intel.
bool is_share_of_slots(const perf::EventAttributes& asked) {
  const std::uint64_t code = asked.config & 0xffff;
  return asked.type == PERF_TYPE_RAW && (code & 0xff) == 0 && code >= 0x8000 && code <= 0x8700;
}

}  // namespace

void ScriptedKernel::answer(const std::string& group, Answer answer) {
  const std::lock_guard lock{mutex_};
  Told& told = answers_[group];
  if (answer.kind == Answer::Kind::kEof && answer.counts.empty()) {
    answer.enabled = told.answer.enabled;
    answer.running = told.answer.running;
    answer.counts = told.answer.counts;
  }
  told = {std::move(answer), true, false, now_, told.is_checked_next};
}

void ScriptedKernel::refuse(const std::string& event, int code) {
  const std::lock_guard lock{mutex_};
  refusals_[event] = code;
}

void ScriptedKernel::refuse_in_cgroups(const std::string& event, int code) {
  const std::lock_guard lock{mutex_};
  refusals_in_cgroups_[event] = code;
}

void ScriptedKernel::refuse_unless_behind(const std::string& event, const std::string& leader,
                                          int code) {
  const std::lock_guard lock{mutex_};
  behind_[event] = {leader, code};
}

void ScriptedKernel::refuse_groups_larger_than(std::size_t events, int code) {
  const std::lock_guard lock{mutex_};
  largest_group_ = events;
  too_large_ = code;
}

std::string ScriptedKernel::place_of(const perf::CounterRequest& request) const {
  const std::string cpu =
      request.pid < 0 ? "cpu" + std::to_string(request.cpu) : "pid" + std::to_string(request.pid);
  if (request.cgroup_fd < 0) return cpu;
  const std::string directory =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(request.cgroup_fd)).string();
  const std::string below = directory.substr(std::min(cgroup_root_.size(), directory.size()));
  return cpu + " " + (below.empty() ? "/" : below);
}

/// The events of the group so far, its leader first; none for -1.
std::vector<std::string> ScriptedKernel::in_front(int leader_fd) const {
  std::vector<std::string> events;
  const auto leader = counters_.find(leader_fd);
  if (leader == counters_.end()) return events;
  for (const Counter* member : read_together(leader->second, {})) events.push_back(member->event);
  return events;
}

/// errno, or 0.
int ScriptedKernel::refusal_of(const perf::CounterRequest& request,
                               const std::string& event) const {
  const auto code_of = [](const std::map<std::string, int>& refusals, const std::string& refused) {
    const auto found = refusals.find(refused);
    return found == refusals.end() ? 0 : found->second;
  };
  for (const std::string& refused : {event, place_of(request) + " " + event}) {
    if (const int code = code_of(refusals_, refused); code != 0) return code;
  }
  if (request.cgroup_fd >= 0) {
    if (const int code = code_of(refusals_in_cgroups_, event); code != 0) return code;
  }
  const bool is_generic =
      request.event.type == PERF_TYPE_HARDWARE || request.event.type == PERF_TYPE_HW_CACHE;
  if (is_generic && !request.event.exclude_guest && with_guests_ != 0) return with_guests_;
  const std::vector<std::string> before = in_front(request.leader_fd);
  if (is_share_of_slots(request.event) &&
      (before.empty() || before.front() != event_name({PERF_TYPE_RAW, kSlots}))) {
    return EINVAL;
  }
  const auto rule = behind_.find(event);
  if (rule == behind_.end()) return 0;
  const auto& [leader, code] = rule->second;
  return std::find(before.begin(), before.end(), leader) == before.end() ? code : 0;
}

Result<perf::OpenCounter> ScriptedKernel::open(const perf::CounterRequest& request) {
  const std::lock_guard lock{mutex_};
  forget_closed();
  const std::string event = event_name(request.event);
  const std::string place = place_of(request);
  if (const int code = refusal_of(request, event); code != 0) return Error{code, {}, {}};

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{errno, {}, {}};
  Counter counter;
  counter.id = counter.leader_id = 1000 + ++opened_;
  counter.group = place + " " + event;
  counter.pinned = request.pinned;
  counter.whole_cpu = request.cgroup_fd < 0 && request.pid < 0;
  counter.runs_now = request.cgroup_fd < 0 && request.pid <= 0;
  counter.is_clock = event == "cpu-clock";
  counter.is_hardware =
      request.event.type == PERF_TYPE_HARDWARE || request.event.type == PERF_TYPE_HW_CACHE;
  counter.counts_guests = counter.is_hardware && !request.event.exclude_guest;
  counter.is_share = is_share_of_slots(request.event);
  counter.event = event;
  counter.cpu = request.cpu;
  counter.other_end.reset(ends[1]);
  if (request.leader_fd >= 0) join_group_of(request.leader_fd, counter);
  if (!counter.is_share && places_taken(counter) >= largest_group_) {
    ::close(ends[0]);
    return Error{too_large_, {}, {}};
  }
  perf::OpenCounter opened{UniqueFd{ends[0]}, counter.id};
  has_counted_guests_ = has_counted_guests_ || counter.counts_guests;
  if (request.running) inactive_.erase({counter.cpu, counter.is_hardware});
  if (request.leader_fd < 0) {
    start_anew(counter.group, counter.whole_cpu && !request.running);
    opened_groups_.push_back(counter.group);
  }
  counters_.insert_or_assign(ends[0], std::move(counter));
  return opened;
}

/// Of the PMU, by the group that `member` joins.
std::size_t ScriptedKernel::places_taken(const Counter& member) const {
  return static_cast<std::size_t>(
      std::count_if(counters_.begin(), counters_.end(), [&](const auto& entry) {
        return entry.second.leader_id == member.leader_id && !entry.second.is_share;
      }));
}

void ScriptedKernel::join_group_of(int leader_fd, Counter& member) {
  if (const auto leader = counters_.find(leader_fd); leader != counters_.end()) {
    join(leader->second, member);
    return;
  }
  const std::size_t leader = opened_events.number_of(leader_fd).value();
  member.leader_id = opened_events.at(leader).id;
  member.position = 1 + members_of(member.leader_id).size();
  member.group = "event" + std::to_string(leader) + " " + member.group;
}

void ScriptedKernel::join(const Counter& leader, Counter& member) const {
  member.group = leader.group;
  member.leader_id = leader.id;
  member.pinned = leader.pinned;
  member.position = members_of(leader.id).size();
}

/// In the order of opening. The leader as well, unless it is one of opened_events.
std::vector<const ScriptedKernel::Counter*> ScriptedKernel::members_of(
    std::uint64_t leader_id) const {
  std::vector<const Counter*> members;
  for (const auto& [fd, counter] : counters_) {
    if (counter.leader_id == leader_id) members.push_back(&counter);
  }
  std::sort(members.begin(), members.end(),
            [](const Counter* a, const Counter* b) { return a->position < b->position; });
  return members;
}

/// What the group of this name before it was told to say is over: a new one starts at 0.
void ScriptedKernel::start_anew(const std::string& group, bool is_checked) {
  const auto old = answers_.find(group);
  if (old != answers_.end() && old->second.was_read) answers_.erase(old);
  answers_[group].read_at = now_;
  answers_[group].is_checked_next = is_checked;
}

void ScriptedKernel::deactivate_contexts(int cpu) {
  const std::lock_guard lock{mutex_};
  inactive_.insert({{cpu, false}, {cpu, true}});
}

void ScriptedKernel::pass(std::chrono::nanoseconds time) {
  const std::lock_guard lock{mutex_};
  now_ += time;
}

void ScriptedKernel::pass_in_switches(std::chrono::nanoseconds time) {
  const std::lock_guard lock{mutex_};
  now_ += time;
  for (auto& [group, told] : answers_) told.read_at += time;
}

std::chrono::nanoseconds ScriptedKernel::now() {
  const std::lock_guard lock{mutex_};
  return now_;
}

/// The number in opened_events of the event that leads the group.
std::optional<std::size_t> ScriptedKernel::opened_leader(int leader_fd) {
  const auto found = counters_.find(leader_fd);
  if (found != counters_.end() && !is_closed(found->second)) return std::nullopt;
  return opened_events.number_of(leader_fd);
}

Result<> ScriptedKernel::enable_group(int leader_fd) {
  const std::lock_guard lock{mutex_};
  if (const auto leader = opened_leader(leader_fd)) {
    opened_events.at(*leader).is_stopped = false;
    return {};
  }
  Counter& leader = counters_.at(leader_fd);
  ++enables_[leader.group];
  runs_[leader.group] = true;
  if (stopped_.erase(leader.group) > 0) answers_[leader.group].read_at = now_;
  leader.is_dead = leader.whole_cpu && inactive_.contains({leader.cpu, leader.is_hardware});
  return {};
}

Result<> ScriptedKernel::disable_group(int leader_fd) {
  const std::lock_guard lock{mutex_};
  if (const auto leader = opened_leader(leader_fd)) {
    opened_events.at(*leader).is_stopped = true;
    return {};
  }
  const Counter& leader = counters_.at(leader_fd);
  Told& told = answers_[leader.group];
  if (!told.by_script && leader.runs_now && !stopped_.contains(leader.group)) {
    go_on(leader, told, {});
  }
  stopped_.insert(leader.group);
  runs_[leader.group] = false;
  return {};
}

Result<perf::OpenCounter> ScriptedKernel::open_event(perf::EventAttr& attr,
                                                     const perf::EventTarget& target) {
  const bool is_behind = target.group_fd >= 0 && opened_events.number_of(target.group_fd);
  if (is_behind && is_share_of_slots({.type = attr.type, .config = attr.config})) {
    const ScriptedEvents::Event& leader =
        opened_events.at(*opened_events.number_of(target.group_fd));
    if (leader.attr.type != PERF_TYPE_RAW || leader.attr.config != kSlots) {
      return Error{EINVAL, "open an event", {}};
    }
  }
  Result<perf::OpenCounter> event = opened_events.open(attr, target);
  const std::lock_guard lock{mutex_};
  const bool runs = (attr.flags & perf::attr_flag(perf::AttrFlag::kDisabled)) == 0;
  if (event && runs) inactive_.erase({target.cpu, false});
  return event;
}

Result<> ScriptedKernel::control(int fd, perf::EventControl operation, std::uint64_t argument) {
  const Result<> done = opened_events.control(fd, operation, argument);
  if (!done || operation != perf::EventControl::kEnable) return done;
  const std::lock_guard lock{mutex_};
  forget_closed();
  ScriptedEvents::Event& event = opened_events.at(opened_events.number_of(fd).value());
  const std::vector<const Counter*> members = members_of(event.id);
  const bool has_hardware = std::any_of(members.begin(), members.end(),
                                        [](const Counter* member) { return member->is_hardware; });
  event.is_dead = inactive_.contains({event.target.cpu, has_hardware});
  return done;
}

/// A group that one of opened_events leads, in the layout of PERF_FORMAT_GROUP with both times.
Result<std::size_t> ScriptedKernel::read_opened(std::size_t leader,
                                                std::span<std::uint64_t> words) {
  constexpr std::uint64_t kStep = 1'000'000;
  ScriptedEvents::Event& event = opened_events.at(leader);
  if (!event.is_stopped) ++event.reads;
  const std::uint64_t time = event.is_dead ? 0 : kStep * event.reads;
  const bool has_ids = (event.attr.read_format & PERF_FORMAT_ID) != 0;
  std::vector<std::uint64_t> reading = {0, time, time};
  const auto add_value = [&](std::uint64_t id) {
    ++reading[0];
    reading.push_back(0);
    if (has_ids) reading.push_back(id);
  };
  add_value(event.id);
  for (const std::uint64_t member : opened_events.member_ids(leader)) add_value(member);
  for (const Counter* member : members_of(event.id)) add_value(member->id);
  const auto& change = opened_events.change_reading;
  if (const int code = change ? change(leader, reading) : 0; code != 0) return Error{code, {}, {}};
  if (reading.size() > words.size()) return Error{ENOSPC, {}, {}};
  std::copy(reading.begin(), reading.end(), words.begin());
  return reading.size();
}

Result<std::size_t> ScriptedKernel::read_group(int leader_fd, std::span<std::uint64_t> words) {
  const std::lock_guard lock{mutex_};
  if (const auto leader = opened_leader(leader_fd)) {
    forget_closed();
    return read_opened(*leader, words);
  }
  const Counter& asked = counters_.at(leader_fd);
  Told& to_poll = answers_[asked.group];
  const bool is_check = std::exchange(to_poll.is_checked_next, false);
  Told forgotten = is_check && !only_tried_ ? to_poll : Told{trial_, false, false, {}, false};
  Told& told = is_check || only_tried_ ? forgotten : to_poll;
  Answer& answer = told.answer;
  told.was_read = true;
  if (!told.by_script && asked.runs_now && !stopped_.contains(asked.group)) {
    if (asked.pinned && share_of(asked) < 1) return std::size_t{0};
    go_on(asked, told, std::chrono::milliseconds{1});
  }
  if (asked.is_dead) told = {{}, true, true, now_, false};
  const bool leads = asked.id == asked.leader_id;
  const bool is_silent = answer.silent.contains(asked.position);
  if ((answer.kind == Answer::Kind::kEof && leads) || is_silent) return std::size_t{0};
  if (answer.kind == Answer::Kind::kError) return Error{answer.code, {}, {}};

  if (answer.kind == Answer::Kind::kBrokenUp && answer.detached_badly.contains(asked.position)) {
    return read_former_leader(asked, answer, words);
  }
  const std::vector<const Counter*> members = read_together(asked, answer);
  if (!told.by_script && places_taken(asked) + taken_from(asked) > largest_running_) {
    if (asked.pinned) return std::size_t{0};
    answer.running = {};
  }
  std::size_t filled = 0;
  words[filled++] = members.size();
  words[filled++] = static_cast<std::uint64_t>(answer.enabled.count());
  words[filled++] = static_cast<std::uint64_t>(answer.running.count());
  for (const Counter* member : members) {
    const auto clock = static_cast<std::uint64_t>(member->is_clock ? answer.running.count() : 0);
    words[filled++] =
        member->position < answer.counts.size() ? answer.counts[member->position] : clock;
    words[filled++] = member->id;
  }
  return filled;
}

/// The time of a whole CPU: what has passed since the last call, and `more`.
void ScriptedKernel::go_on(const Counter& asked, Told& told, std::chrono::nanoseconds more) const {
  const std::chrono::nanoseconds step = more + (now_ - std::exchange(told.read_at, now_));
  told.answer.enabled += step;
  told.answer.running +=
      std::chrono::nanoseconds{std::llround(share_of(asked) * static_cast<double>(step.count()))};
}

/// Counters of the PMU that pinned groups have before the group of `asked` gets any.
std::size_t ScriptedKernel::taken_from(const Counter& asked) const {
  return static_cast<std::size_t>(
      std::count_if(counters_.begin(), counters_.end(), [&](const auto& entry) {
        const Counter& other = entry.second;
        const bool comes_first = !asked.pinned || other.leader_id < asked.leader_id;
        return other.pinned && other.cpu == asked.cpu && other.leader_id != asked.leader_id &&
               comes_first && !is_closed(other);
      }));
}

/// What the group of `asked` gets of the time, of the counters that are shared.
double ScriptedKernel::share_of(const Counter& asked) const {
  if (!shared_counters_) return 1;
  double own = 0, pinned = 0, others = 0;
  for (const auto& [fd, counter] : counters_) {
    if (counter.cpu != asked.cpu || !counter.is_hardware || is_closed(counter)) continue;
    const bool is_own = counter.leader_id == asked.leader_id;
    own += is_own ? 1 : 0;
    (counter.pinned ? pinned : others) += 1;
  }
  if (own == 0) return 1;
  const double counters = static_cast<double>(*shared_counters_);
  if (asked.pinned) return pinned <= counters ? 1 : 0;
  const double left = counters - pinned;
  return own > left ? 0 : std::min(1.0, left / others);
}

/// The counters that one read is about, in the order they were opened.
std::vector<const ScriptedKernel::Counter*> ScriptedKernel::read_together(
    const Counter& asked, const Answer& answer) const {
  if (answer.kind == Answer::Kind::kBrokenUp) return {&asked};
  return members_of(asked.leader_id);
}

/// Into room for the whole group.
Result<std::size_t> ScriptedKernel::read_former_leader(const Counter& asked, const Answer& answer,
                                                       std::span<std::uint64_t> words) const {
  const std::size_t members = std::max<std::size_t>(members_of(asked.leader_id).size(), 2);
  if (words.size() < perf::words_in_reading(members)) return Error{ENOSPC, {}, {}};
  const std::array reading = {std::uint64_t{1}, static_cast<std::uint64_t>(answer.enabled.count()),
                              static_cast<std::uint64_t>(answer.running.count()),
                              answer.counts.empty() ? 0 : answer.counts.front(), asked.leader_id};
  std::copy(reading.begin(), reading.end(), words.begin());
  return reading.size();
}

void ScriptedKernel::only_tried(bool trying) {
  const std::lock_guard lock{mutex_};
  only_tried_ = trying;
}

/// The write end of a pipe reports an error once its read end is closed.
bool ScriptedKernel::is_closed(const Counter& counter) const {
  pollfd state{counter.other_end.get(), 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
}

void ScriptedKernel::forget_closed() {
  std::erase_if(counters_, [this](const auto& entry) { return is_closed(entry.second); });
}

std::size_t ScriptedKernel::still_open() {
  const std::lock_guard lock{mutex_};
  forget_closed();
  return counters_.size();
}

bool ScriptedKernel::could_give_guests_the_pmu() {
  const std::lock_guard lock{mutex_};
  forget_closed();
  const bool did_count = std::exchange(
      has_counted_guests_, std::any_of(counters_.begin(), counters_.end(), [](const auto& entry) {
        return entry.second.counts_guests;
      }));
  return !did_count;
}

std::size_t ScriptedKernel::enabled(const std::string& group) {
  const std::lock_guard lock{mutex_};
  return enables_[group];
}

bool ScriptedKernel::runs(const std::string& group) {
  const std::lock_guard lock{mutex_};
  return runs_[group];
}

std::vector<std::string> ScriptedKernel::opened_groups() {
  const std::lock_guard lock{mutex_};
  return opened_groups_;
}

std::vector<std::string> ScriptedKernel::open_groups() {
  const std::lock_guard lock{mutex_};
  forget_closed();
  std::vector<std::string> names;
  for (const auto& [fd, counter] : counters_) {
    if (counter.leader_id == counter.id) names.push_back(counter.group);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace pex::test
