#include "support/scripted_events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pex::test {
namespace {

constexpr std::uint64_t kFirstId = 5'000'000;  // ScriptedKernel has its own below

Result<perf::Mapping> map_file(int file, std::size_t bytes, std::size_t offset, bool writable) {
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* const start =
      ::mmap(nullptr, bytes, protection, MAP_SHARED, file, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return Error{errno, {}, {}};
  return perf::Mapping{start, bytes};
}

}  // namespace

perf_event_mmap_page* ScriptedEvents::Event::page() const {
  return reinterpret_cast<perf_event_mmap_page*>(memory.data());
}

Result<perf::OpenCounter> ScriptedEvents::open(perf::EventAttr& attr,
                                               const perf::EventTarget& target) {
  const std::lock_guard lock{mutex_};
  if (const int code = refuse_open ? refuse_open(attr, target) : 0; code != 0) {
    return Error{code, {}, {}};
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{errno, {}, {}};
  auto event = std::make_unique<Event>();
  event->attr = attr;
  event->target = target;
  event->id = kFirstId + events_.size();
  event->other_end.reset(ends[1]);
  const auto leader = by_fd_.find(target.group_fd);
  if (leader != by_fd_.end()) event->leader = leader->second;
  by_fd_[ends[0]] = events_.size();
  events_.push_back(std::move(event));
  return perf::OpenCounter{UniqueFd{ends[0]}, events_.back()->id};
}

ScriptedEvents::Event* ScriptedEvents::find(int fd, std::size_t& number) {
  const auto found = by_fd_.find(fd);
  if (found == by_fd_.end()) return nullptr;
  number = found->second;
  return events_[number].get();
}

Result<> ScriptedEvents::control(int fd, perf::EventControl operation, std::uint64_t argument) {
  const std::lock_guard lock{mutex_};
  std::size_t number = 0;
  Event* const event = find(fd, number);
  if (event == nullptr) return Error{EBADF, {}, {}};
  const Control control{number, operation, argument};
  if (const int code = refuse_control ? refuse_control(control) : 0; code != 0) {
    return Error{code, {}, {}};
  }
  if (operation == perf::EventControl::kId) {
    *reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(argument)) = event->id;
  }
  if (operation == perf::EventControl::kPauseOutput) event->is_paused = argument != 0;
  controls_.push_back(control);
  return {};
}

Result<perf::Mapping> ScriptedEvents::map(int fd, std::size_t bytes, std::size_t offset,
                                          bool writable) {
  const std::lock_guard lock{mutex_};
  std::size_t number = 0;
  Event* const event = find(fd, number);
  if (event == nullptr) return Error{EBADF, {}, {}};
  if (const int code = refuse_map ? refuse_map(bytes, offset) : 0; code != 0) {
    return Error{code, {}, {}};
  }
  if (!event->file) event->file.reset(::memfd_create("ring", MFD_CLOEXEC));
  const std::size_t size = std::max(offset + bytes, event->memory.size());
  if (::ftruncate(event->file.get(), static_cast<off_t>(size)) != 0) return Error{errno, {}, {}};
  Result<perf::Mapping> memory = map_file(event->file.get(), size, 0, true);
  if (!memory) return memory.error();
  event->memory = *std::move(memory);
  if (offset == 0) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    event->is_writable = writable;
    event->page()->data_offset = page;
    event->page()->data_size = bytes - page;
  }
  return map_file(event->file.get(), bytes, offset, writable);
}

ScriptedEvents::Event& ScriptedEvents::at(std::size_t number) {
  const std::lock_guard lock{mutex_};
  return *events_.at(number);
}

std::optional<std::size_t> ScriptedEvents::number_of(int fd) {
  const std::lock_guard lock{mutex_};
  std::size_t number = 0;
  if (find(fd, number) == nullptr) return std::nullopt;
  return number;
}

std::vector<std::uint64_t> ScriptedEvents::member_ids(std::size_t leader) {
  const std::lock_guard lock{mutex_};
  std::vector<std::uint64_t> ids;
  for (const auto& event : events_) {
    if (event->leader == leader) ids.push_back(event->id);
  }
  return ids;
}

/// The write end of a pipe reports an error once its read end is closed.
std::vector<std::size_t> ScriptedEvents::still_open() {
  const std::lock_guard lock{mutex_};
  std::vector<std::size_t> open;
  for (std::size_t number = 0; number < events_.size(); ++number) {
    pollfd state{events_[number]->other_end.get(), 0, 0};
    if (::poll(&state, 1, 0) == 0) open.push_back(number);
  }
  return open;
}

std::size_t ScriptedEvents::opened() {
  const std::lock_guard lock{mutex_};
  return events_.size();
}

std::vector<ScriptedEvents::Control> ScriptedEvents::controls() {
  const std::lock_guard lock{mutex_};
  return controls_;
}

}  // namespace pex::test
