#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/semaphore.h"
#include "config/load.h"
#include "daemon/log/logging.h"
#include "daemon/log/outbox.h"
#include "daemon/run/start_state.h"
#include "host/roots.h"

namespace pex::daemon {

/// Notes each step of a start in a file, by which the next start knows if this one has crashed, and
/// then counts less (next_start()). At a reload it does the same. Without a directory, or if that
/// cannot be written, everything is counted. Planning has its own thread, so calls take a lock. The
/// file has one as well: only planning waits for it, at most FileThread::kHangs.
class CrashGuard {
 public:
  /// `log` outlives it.
  CrashGuard(boost::asio::io_context& loop, const std::string& directory,
             const host::HostRoots& roots, Log& log);

  // Of the thread that plans.

  /// Something of this configuration is about to be opened: what may be.
  Counted begin(const config::Loaded& loaded);
  /// A group; empty: all of them.
  void trying(const std::string& group);
  void opening();

  // Of the loop.

  /// The plan is not used: the one before stays in force.
  void give_up();
  void polled();
  /// On request or by an error. Lets the loop run out of work.
  void end();
  /// Why not everything is counted; nothing: it is.
  std::optional<Error> reason() const;

 private:
  using Done = std::shared_ptr<Semaphore>;  ///< of the file's thread
  enum class Durable { kNo, kYes };         ///< whether it is on the disk if the machine stops
  enum class Missing { kStays, kIsCreated };

  Done note(StartState::Step step, const std::string& group = {});
  std::optional<std::string> read();
  Done write(Durable durable, Missing missing = Missing::kStays);
  void report(const Result<>& written);
  Done run(Outbox::Job job, std::function<void()> then = {});
  void wait_for(const Done& done);

  const std::string file_;  ///< empty: none
  const std::string directory_;
  const std::string boot_;
  Log& log_;
  boost::asio::steady_timer timer_;
  mutable std::mutex mutex_;
  std::optional<StartState> state_;   ///< nothing: nothing has begun
  std::optional<StartState> before_;  ///< the plan that is being made
  bool hangs_ = false;                ///< of planning
  bool has_reported_ = false;         ///< of the file's thread
  std::unique_ptr<Outbox> files_;
};

/// What the exporter with this state counts of a configuration, for a check next to it.
Counted counted_after_crashes(const std::string& directory, const config::Loaded& loaded);

/// The state file in this directory.
std::string start_state_file(const std::string& directory);

}  // namespace pex::daemon
