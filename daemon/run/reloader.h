#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/result.h"
#include "base/semaphore.h"
#include "daemon/run/counting_session.h"

namespace pex::daemon {

/// Replaces the configuration in force by a new one while the loop keeps serving:
///
///   request() --> plan, on its thread --> nothing to close --> adopt --> answer
///                        |                         |
///                        v errors                  v else
///                      answer          close the old counters, on that thread --> adopt --> answer
///
/// Old counters are closed before adopt(), so before new ones are opened: both together could
/// exceed the limits. One reload at a time; requests that arrive meanwhile get the outcome of one
/// more reload, which begins afterwards, as the file may have changed since. Reloads for clients,
/// who may be unauthenticated, are limited to one a second: planning opens and tries counters.
///
/// plan_again() does the same with the configuration in force, for a machine that has changed.
class Reloader {
 public:
  enum class Configuration { kFile, kInForce };
  enum class Question { kTruth, kGuests, kHierarchy };
  using Outcome = Result<void, std::vector<Error>>;
  using Answer = std::function<void(const Outcome&)>;
  using Clock = std::chrono::steady_clock;

  struct Steps {
    /// On the loop, like all but the next; it calls `go` once the file can be read.
    std::function<void(Configuration, std::function<void()> go)> begin;
    std::function<Result<CountingSession, std::vector<Error>>(Configuration)> plan;
    /// The current collector, unless the new session takes it over.
    std::function<std::unique_ptr<collect::Collector>(CountingSession& counting)> release;
    std::function<void(CountingSession counting)> adopt;
    /// CPUs whose workers hang and hold their counters (Collector::end()).
    std::function<void(const std::vector<int>& cpus)> left_behind;
    std::function<void(Configuration, const Outcome& outcome)> end;
  };

  Reloader(boost::asio::io_context& loop, Steps steps);
  /// Waits for the jobs of its thread.
  ~Reloader();
  /// Whether those have ended by `deadline`; else one hangs, and nothing that it uses may be
  /// destroyed. Once the loop has ended.
  bool ends_by(Clock::time_point deadline);

  /// Called on the loop, as `answer` is.
  void request(Answer answer, Clock::time_point now);
  /// For a client. Returns false without calling `answer` if the last one was too recent.
  bool request_for_client(Answer answer, Clock::time_point now);
  /// Not while another one is running, which sees the machine as it is now or almost so.
  void plan_again(Clock::time_point now);
  /// Asks on the thread of reloads, where a file that hangs stops nothing else, and continues on
  /// the loop, unless a reload is running by then. Does nothing while the same question is open.
  void ask(Question question, std::function<bool()> look, std::function<void(bool)> then);
  bool is_running() const { return is_running_; }

  /// Begins no further reload.
  void stop();

  static constexpr std::chrono::seconds kBetweenClients{1};

 private:
  bool is_too_soon(Clock::time_point now) const { return now < began_ + kBetweenClients; }
  void begin(Clock::time_point now, Configuration configuration = Configuration::kFile);
  void begin_next(Clock::time_point now);
  void use(Result<CountingSession, std::vector<Error>> planned);
  void adopt(CountingSession counting);
  /// On the thread; then `then`, with what the job returned, on the loop.
  template <typename Job, typename Then>
  void run(Job job, Then then);
  void end(const Outcome& outcome);

  boost::asio::io_context& loop_;
  Steps steps_;
  std::vector<Answer> answered_now_;
  std::vector<Answer> answered_next_;
  Clock::time_point began_ = Clock::time_point::min() + kBetweenClients;  ///< the last one
  boost::asio::steady_timer pause_;  ///< before the next one, where only clients wait for it
  Configuration configuration_ = Configuration::kFile;  ///< of the last one
  bool is_next_for_clients_ = true;
  bool is_running_ = false;
  std::size_t jobs_ = 0;  ///< of the thread
  Semaphore ended_;       ///< one more of them
  std::set<Question> open_;
  bool is_stopped_ = false;
  boost::asio::thread_pool thread_{1};
};

}  // namespace pex::daemon
