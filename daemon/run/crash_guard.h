#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/load.h"
#include "daemon/log/logging.h"
#include "daemon/run/start_state.h"
#include "host/roots.h"

namespace pex::daemon {

/// Notes each step of a start in a file, by which the next start knows if this one has crashed, and
/// then counts less (next_start()). At a reload it does the same. Without a directory, or if that
/// cannot be written, everything is counted. Planning has its own thread, so calls take a lock.
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
  enum class Durable { kNo, kYes };  ///< whether it is on the disk if the machine stops

  std::optional<StartState> last(const StartState& now) const;
  void settle();
  void note(StartState::Step step, const std::string& group = {});
  void write(Durable durable);
  Result<> replace_file(const std::string& text, Durable durable) const;

  const std::string file_;  ///< empty: none
  const std::string directory_;
  const std::string boot_;
  Log& log_;
  boost::asio::steady_timer timer_;
  mutable std::mutex mutex_;
  std::optional<StartState> state_;   ///< nothing: nothing has begun
  std::optional<StartState> before_;  ///< the plan that is being made
  bool has_reported_ = false;
};

/// What the exporter with this state counts of a configuration, for a check next to it.
Counted counted_after_crashes(const std::string& directory, const config::Loaded& loaded);

/// The state file in this directory.
std::string start_state_file(const std::string& directory);

}  // namespace pex::daemon
