#include "daemon/run/crash_guard.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/small_file.h"
#include "base/unique_fd.h"
#include "daemon/cli/version.h"

namespace pex::daemon {
namespace {

using Step = StartState::Step;

constexpr std::chrono::minutes kSettlesAfter{1};

bool is_in_memory(const std::string& directory) {
  struct statfs of {};
  return ::statfs(directory.c_str(), &of) == 0 && of.f_type == TMPFS_MAGIC;
}

std::string boot_of(const host::HostRoots& roots) {
  const Result<std::string> boot = read_small_file(roots.boot_id());
  return boot ? without_final_newline(*boot) : std::string{};
}

}  // namespace

std::string start_state_file(const std::string& directory) {
  return directory.empty() ? "" : directory + "/start";
}

Counted counted_after_crashes(const std::string& directory, const config::Loaded& loaded) {
  const Result<std::string> text = read_small_file(start_state_file(directory));
  const std::optional<StartState> state = text ? start_state_of(*text) : std::nullopt;
  const bool is_of_it =
      state && state->version == kVersion && state->configuration == loaded.config.origin.hash;
  return is_of_it ? state->counted : Counted::kAll;
}

CrashGuard::CrashGuard(boost::asio::io_context& loop, const std::string& directory,
                       const host::HostRoots& roots, Log& log)
    : file_(start_state_file(directory)),
      directory_(directory),
      boot_(boot_of(roots)),
      log_(log),
      timer_(loop) {}

/// A file that is there and empty was not on the disk yet when the machine stopped.
std::optional<StartState> CrashGuard::last(const StartState& now) const {
  const Result<std::string> text = read_small_file(file_);
  if (!text) return {};
  if (text->empty()) {
    return StartState{now.version, now.configuration, {}, Counted::kAll, {}, 0, Step::kPolled};
  }
  std::optional<StartState> last = start_state_of(*text);
  if (last && state_) last->step = Step::kSettled;  // of this start
  return last;
}

/// The file is read each time: without it, everything is to be counted again.
Counted CrashGuard::begin(const config::Loaded& loaded) {
  if (file_.empty()) return Counted::kAll;
  const std::lock_guard lock{mutex_};
  if (state_ && state_->step == Step::kEnded) return state_->counted;
  if (!state_ && is_in_memory(directory_)) {
    log_.info("crashes of the machine are not noticed: the state directory is in memory",
              {{"directory", directory_}});
  }
  const StartState now{kVersion, loaded.config.origin.hash, boot_};
  before_ = std::exchange(state_, next_start(last(now), now));
  write(Durable::kYes);
  return state_->counted;
}

void CrashGuard::trying(const std::string& group) {
  const std::lock_guard lock{mutex_};
  if (state_) note(Step::kPlanning, group);
}

void CrashGuard::opening() {
  const std::lock_guard lock{mutex_};
  before_.reset();
  if (state_) note(Step::kOpening);
}

void CrashGuard::give_up() {
  const std::lock_guard lock{mutex_};
  if (!before_) return;
  state_ = std::exchange(before_, {});
  note(state_->step);
}

void CrashGuard::polled() {
  const std::lock_guard lock{mutex_};
  if (!state_ || state_->step != Step::kOpening) return;
  state_->crashes = 0;
  note(Step::kPolled);
  timer_.expires_after(kSettlesAfter);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) settle();
  });
}

void CrashGuard::settle() {
  const std::lock_guard lock{mutex_};
  if (state_->step == Step::kPolled) note(Step::kSettled);
}

void CrashGuard::end() {
  timer_.cancel();
  const std::lock_guard lock{mutex_};
  if (state_) note(Step::kEnded);
}

std::optional<Error> CrashGuard::reason() const {
  const std::lock_guard lock{mutex_};
  if (!state_ || state_->counted == Counted::kAll) return {};
  return Error{0,
               (state_->counted == Counted::kNothing ? "nothing is counted: "
                                                     : "only software events are counted: ") +
                   state_->cause,
               "change the configuration, or run 'perf_event_exporter reset' and reload"};
}

/// Without the file, everything is to be counted from the next start on. After the end, a reload
/// may still be planning.
void CrashGuard::note(Step step, const std::string& group) {
  if (state_->step == Step::kEnded) return;
  state_->step = step;
  state_->group = group;
  if (::access(file_.c_str(), F_OK) != 0) return;
  write(step == Step::kOpening ? Durable::kYes : Durable::kNo);
}

void CrashGuard::write(Durable durable) {
  const Result<> done = replace_file(to_text(*state_), durable);
  if (done || std::exchange(has_reported_, true)) return;
  if (done.error().code == EROFS) {
    return log_.info("crashes are not noticed: the state directory is read-only",
                     {{"directory", directory_}});
  }
  log_.warn(done.error());
}

Result<> CrashGuard::replace_file(const std::string& text, Durable durable) const {
  const auto keep = [&](const UniqueFd& fd) {
    return durable == Durable::kNo || (fd && ::fsync(fd.get()) == 0);
  };
  const std::string next = file_ + ".new";
  errno = 0;  // a full disk may take a part
  const UniqueFd fd{
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)};
  const bool is_done =
      fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      keep(fd) && ::rename(next.c_str(), file_.c_str()) == 0 &&
      keep(UniqueFd{::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)});
  if (is_done) return {};
  const int code = errno;
  return Error{code, "write '" + file_ + "': crashes of the exporter are not noticed",
               "make the directory writable, or unset STATE_DIRECTORY"};
}

}  // namespace pex::daemon
