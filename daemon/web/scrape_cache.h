#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/snapshot.h"
#include "daemon/web/buffer_pool.h"
#include "exposition/renderer.h"
#include "exposition/self_metrics.h"
#include "http/gzip.h"
#include "http/server.h"

namespace pex::daemon {

/// Answers scrapes from the latest snapshot:
///
///   request --older than max_age--> waits for a poll, one for all --> rendered? --> response
///                                                                        |no
///                                         rendered and compressed on the worker, once for all
///
/// Rendered texts are kept for as long as they are true, and shared by all responses. Those of
/// selected groups are as many as clients can think of, so they have queue and place of their own:
/// they are rendered when no whole text waits, and never take the place of one. All on the loop's
/// thread but the rendering itself.
class ScrapeCache {
 public:
  using Clock = std::chrono::steady_clock;

  /// What is rendered, and when it was read; null before the first poll.
  struct Latest {
    std::shared_ptr<const collect::Snapshot> snapshot;
    Clock::time_point read;
  };

  /// Where it comes from. Called on the loop's thread.
  struct Source {
    std::function<Latest()> latest;
    std::function<std::shared_ptr<const exposition::SelfReading>()> read_self;
    std::function<void()> poll;  ///< have a poll begin, unless one is running
  };

  /// Both outlive it; whoever joins `worker` does so before this ends.
  ScrapeCache(boost::asio::io_context& loop, boost::asio::thread_pool& worker, Source source);

  void set_max_age(std::chrono::nanoseconds max_age) { max_age_ = max_age; }
  /// Texts that may be ordered at a time, whole ones and those of selected groups each; beyond:
  /// 503. 0: any number.
  void set_max_orders(std::size_t most) { max_orders_ = most; }

  /// Gives the metrics as they are wanted, `gzip` compressed.
  void answer(const exposition::Wanted& wanted, bool gzip, http::Respond respond);

  /// A poll has ended, so that what waits for it can go on.
  void polled();

  /// Drops all that wait, and lets the loop run out of work.
  void stop();

 private:
  /// A text that is being made, or is there.
  struct Rendering {
    exposition::Wanted wanted;
    bool gzip = false;
    std::weak_ptr<const collect::Snapshot> snapshot;  ///< not held, as that keeps cgroups open
    Clock::time_point begun = {};
    bool is_begun = false;               ///< else its turn is still to come
    http::Body body;                     ///< null while it is being made
    std::vector<http::Respond> waiting;  ///< for it
  };
  struct Request {
    exposition::Wanted wanted;
    bool gzip = false;
    http::Respond respond;
  };

  /// Texts of one sort, whole or of selected groups.
  struct Shelf {
    std::vector<std::shared_ptr<Rendering>> kept;    ///< ordered or there, the oldest first
    std::deque<std::shared_ptr<Rendering>> ordered;  ///< and not begun
  };

  bool is_stale() const;
  void await_poll(Request request);
  void serve(Request request);
  bool is_true(const Rendering& rendering) const;
  Shelf& shelf_of(const exposition::Wanted& wanted);
  std::shared_ptr<Rendering> order(Shelf& shelf, const Request& request);
  std::shared_ptr<Rendering> take_next();
  void work();
  void finish(Rendering& rendering, http::Body body);
  void forget_old(Shelf& shelf);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& worker_;
  Source source_;
  std::chrono::nanoseconds max_age_ = std::chrono::milliseconds{500};
  std::size_t max_orders_ = 0;
  std::vector<Request> awaiting_poll_;
  boost::asio::steady_timer patience_;  ///< a poll that hangs must not make scrapes hang
  Shelf whole_;
  Shelf selected_;
  std::shared_ptr<Rendering> in_work_;  ///< null: the worker has nothing to do
  bool last_was_whole_ = false;         ///< the text that was taken last
  BufferPool texts_;
  BufferPool compressed_;  ///< much smaller
  bool stopped_ = false;

  // Of the worker.
  exposition::Renderer renderer_;
  http::Gzip gzip_;
};

}  // namespace pex::daemon
