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
#include "daemon/web/file_thread.h"

namespace pex::daemon {
namespace {

using Step = StartState::Step;

constexpr std::chrono::minutes kSettlesAfter{1};
constexpr std::size_t kMaxWaiting = 16;  // jobs of a file system that hangs

bool is_in_memory(const std::string& directory) {
  struct statfs of {};
  return ::statfs(directory.c_str(), &of) == 0 && of.f_type == TMPFS_MAGIC;
}

/// The start that wrote this file, if it can be read. An empty one was not on the disk yet when the
/// machine stopped.
std::optional<StartState> last_start(const std::optional<std::string>& text,
                                     const StartState& now) {
  if (!text) return {};
  if (!text->empty()) return start_state_of(*text);
  return StartState{now.version, now.configuration, {}, Counted::kAll, {}, 0, Step::kPolled};
}

/// If it is durable, it is on the disk even if the machine stops.
Result<> replace_file(const std::string& file, const std::string& text, bool is_durable) {
  const auto keep = [&](const UniqueFd& fd) {
    return !is_durable || (fd && ::fsync(fd.get()) == 0);
  };
  const std::string next = file + ".new";
  const std::string directory = file.substr(0, file.rfind('/'));
  errno = 0;  // a full disk may take a part
  const UniqueFd fd{
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)};
  const bool is_done =
      fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      keep(fd) && ::rename(next.c_str(), file.c_str()) == 0 &&
      keep(UniqueFd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)});
  if (is_done) return {};
  const int code = errno;
  return Error{code, "write '" + file + "': crashes of the exporter are not noticed",
               "make the directory writable, or unset STATE_DIRECTORY"};
}

bool may_follow(Step step, Step last) {
  if (step == Step::kPolled) return last == Step::kOpening;
  if (step == Step::kSettled) return last == Step::kPolled;
  return last != Step::kEnded;  // a reload may still be planning
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
      timer_(loop) {
  if (file_.empty()) return;
  Result<std::unique_ptr<Outbox>> files = Outbox::create("start file", kMaxWaiting);
  if (files) files_ = std::move(*files);
}

/// The file is read each time: without it, everything is to be counted again.
Counted CrashGuard::begin(const config::Loaded& loaded) {
  if (file_.empty()) return Counted::kAll;
  const StartState now{kVersion, loaded.config.origin.hash, boot_};
  std::optional<StartState> last = last_start(read(), now);
  std::unique_lock lock{mutex_};
  if (state_ && state_->step == Step::kEnded) return state_->counted;
  if (last && state_) last->step = Step::kSettled;  // of this start
  before_ = std::exchange(state_, next_start(last, now));
  const Counted counted = state_->counted;
  const Done written = write(Durable::kYes, Missing::kIsCreated);
  lock.unlock();
  wait_for(written);
  return counted;
}

void CrashGuard::trying(const std::string& group) { wait_for(note(Step::kPlanning, group)); }

void CrashGuard::opening() { wait_for(note(Step::kOpening)); }

void CrashGuard::give_up() {
  const std::lock_guard lock{mutex_};
  if (!before_) return;
  state_ = std::exchange(before_, {});
  (void)write(Durable::kNo);
}

void CrashGuard::polled() {
  if (!note(Step::kPolled)) return;
  timer_.expires_after(kSettlesAfter);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) note(Step::kSettled);
  });
}

void CrashGuard::end() {
  timer_.cancel();
  note(Step::kEnded);
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

/// Nothing if the step does not follow.
CrashGuard::Done CrashGuard::note(Step step, const std::string& group) {
  const std::lock_guard lock{mutex_};
  if (!state_ || !may_follow(step, state_->step)) return {};
  if (step == Step::kOpening) before_.reset();
  if (step == Step::kPolled) state_->crashes = 0;
  state_->step = step;
  state_->group = group;
  return write(step == Step::kOpening ? Durable::kYes : Durable::kNo);
}

std::optional<std::string> CrashGuard::read() {
  struct Found {
    std::optional<std::string> text;
    bool is_in_memory = false;
  };
  const auto found = std::make_shared<Found>();
  wait_for(run([found, file = file_, directory = directory_] {
    if (Result<std::string> text = read_small_file(file)) found->text = *std::move(text);
    found->is_in_memory = is_in_memory(directory);
  }));
  if (hangs_) return {};
  const std::lock_guard lock{mutex_};
  if (found->is_in_memory && !state_) {
    log_.info("crashes of the machine are not noticed: the state directory is in memory",
              {{"directory", directory_}});
  }
  return std::move(found->text);
}

/// With the lock, so that the last state is written last. Without the file, everything is to be
/// counted from the next start on.
CrashGuard::Done CrashGuard::write(Durable durable, Missing missing) {
  const auto written = std::make_shared<Result<>>();
  return run(
      [written, durable, missing, file = file_, text = to_text(*state_)] {
        if (missing == Missing::kStays && ::access(file.c_str(), F_OK) != 0) return;
        *written = replace_file(file, text, durable == Durable::kYes);
      },
      [this, written] { report(*written); });
}

void CrashGuard::report(const Result<>& written) {
  if (written || std::exchange(has_reported_, true)) return;
  if (written.error().code == EROFS) {
    return log_.info("crashes are not noticed: the state directory is read-only",
                     {{"directory", directory_}});
  }
  log_.warn(written.error());
}

CrashGuard::Done CrashGuard::run(Outbox::Job job, std::function<void()> then) {
  auto done = std::make_shared<Semaphore>();
  const auto end = [done, then = std::move(then)] {
    if (then) then();
    done->post();
  };
  if (!files_) {
    job();
    end();
  } else {
    files_->post(std::move(job), end);
  }
  return done;
}

void CrashGuard::wait_for(const Done& done) {
  if (!done || hangs_) return;
  hangs_ = !done->wait_until(std::chrono::steady_clock::now() + FileThread::kHangs);
  if (!hangs_) return;
  log_.warn(Error{0,
                  "wait for the file system of '" + file_ + "', which has not answered for " +
                      std::to_string(FileThread::kHangs.count()) +
                      " seconds: crashes of the exporter are not noticed",
                  "look whether its mount answers: stat -f on the directory"});
}

}  // namespace pex::daemon
