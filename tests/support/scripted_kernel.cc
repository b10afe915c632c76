#include "support/scripted_kernel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "perf/event_spec.h"

namespace pex::test {
namespace {

/// The canonical name of what is asked for.
std::string event_name(const perf::EventAttributes& attributes) {
  static constexpr const char* kModifiers[] = {"", ":u", ":k", ":uk"};
  for (const std::string& name : perf::known_events()) {
    for (const char* modifiers : kModifiers) {
      const Result<perf::EventSpec> event = perf::parse_event(name + modifiers);
      if (event && event->attributes == attributes) return event->name;
    }
  }
  return "unknown";
}

}  // namespace

void ScriptedKernel::answer(const std::string& group, Answer answer) {
  const std::lock_guard lock{mutex_};
  answers_[group] = {std::move(answer), /*by_script=*/true, /*was_read=*/false};
}

void ScriptedKernel::refuse(const std::string& event, int code) {
  const std::lock_guard lock{mutex_};
  refusals_[event] = code;
}

void ScriptedKernel::refuse_groups_larger_than(std::size_t events, int code) {
  const std::lock_guard lock{mutex_};
  largest_group_ = events;
  too_large_ = code;
}

std::string ScriptedKernel::place_of(const perf::CounterRequest& request) const {
  const std::string cpu = "cpu" + std::to_string(request.cpu);
  if (request.cgroup_fd < 0) return cpu;
  const std::string directory =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(request.cgroup_fd)).string();
  return cpu + " " + directory.substr(std::min(cgroup_root_.size(), directory.size()));
}

Result<perf::OpenCounter> ScriptedKernel::open(const perf::CounterRequest& request) {
  const std::lock_guard lock{mutex_};
  forget_closed();
  const std::string event = event_name(request.event);
  const std::string place = place_of(request);
  for (const std::string& refused : {event, place + " " + event}) {
    if (const auto code = refusals_.find(refused); code != refusals_.end() && code->second != 0) {
      return Error{code->second, {}, {}};
    }
  }

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{errno, {}, {}};
  Counter counter{place, event, 1000 + ++opened_, request.leader_fd, 0, UniqueFd{ends[1]}};
  if (request.leader_fd < 0) counter.leader_fd = ends[0];
  for (const auto& [fd, other] : counters_) {
    counter.position += other.leader_fd == counter.leader_fd ? 1 : 0;
  }
  if (counter.position >= largest_group_) {
    ::close(ends[0]);
    return Error{too_large_, {}, {}};
  }
  perf::OpenCounter opened{UniqueFd{ends[0]}, counter.id};
  if (request.leader_fd < 0) start_anew(place + " " + event);
  counters_.insert_or_assign(ends[0], std::move(counter));
  return opened;
}

/// What the group of this name before it was told to say is over: a new one starts at 0.
void ScriptedKernel::start_anew(const std::string& group) {
  const auto old = answers_.find(group);
  if (old != answers_.end() && old->second.was_read) answers_.erase(old);
}

Result<> ScriptedKernel::enable_group(int leader_fd) {
  const std::lock_guard lock{mutex_};
  const Counter& leader = counters_.at(leader_fd);
  ++enables_[leader.place + " " + leader.event];
  return {};
}

Result<std::size_t> ScriptedKernel::read_group(int leader_fd, std::span<std::uint64_t> words) {
  const std::lock_guard lock{mutex_};
  const Counter& asked = counters_.at(leader_fd);
  const Counter& leader = counters_.at(asked.leader_fd);
  const std::string group = leader.place + " " + leader.event;
  const bool whole_cpu = leader.place.find(' ') == std::string::npos;
  Told& told = answers_[group];
  const Answer& answer = told.answer;
  told.was_read = true;
  if (!told.by_script && whole_cpu) {
    told.answer.enabled = told.answer.running += std::chrono::milliseconds{1};
  }
  if (answer.kind == Answer::Kind::kEof) return std::size_t{0};
  if (answer.kind == Answer::Kind::kError) return Error{answer.code, {}, {}};

  std::vector<const Counter*> members;
  for (const auto& [fd, counter] : counters_) {
    const bool alone = answer.kind == Answer::Kind::kBrokenUp;
    if (alone ? fd == leader_fd : counter.leader_fd == leader_fd) members.push_back(&counter);
  }
  std::sort(members.begin(), members.end(),
            [](const Counter* a, const Counter* b) { return a->position < b->position; });
  std::size_t filled = 0;
  words[filled++] = members.size();
  words[filled++] = static_cast<std::uint64_t>(answer.enabled.count());
  words[filled++] = static_cast<std::uint64_t>(answer.running.count());
  for (const Counter* member : members) {
    words[filled++] = member->position < answer.counts.size() ? answer.counts[member->position] : 0;
    words[filled++] = member->id;
  }
  return filled;
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

std::size_t ScriptedKernel::enabled(const std::string& group) {
  const std::lock_guard lock{mutex_};
  return enables_[group];
}

std::vector<std::string> ScriptedKernel::open_groups() {
  const std::lock_guard lock{mutex_};
  forget_closed();
  std::vector<std::string> names;
  for (const auto& [fd, counter] : counters_) {
    if (counter.leader_fd == fd) names.push_back(counter.place + " " + counter.event);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace pex::test
