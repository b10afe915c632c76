#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "count/snapshot.h"
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
///                                                   rendered and compressed, once for all
///
/// Rendered scrapes are kept while they are current, and shared by all responses. Scrapes of
/// selected groups are as many as clients can invent, so they have a separate queue and cache: they
/// alternate with whole scrapes in the queue, and never replace one.
///
/// Everything is on the loop's thread except rendering, which the worker does. Only a small scrape
/// is rendered on the loop, once for each poll: waking the worker, and then the loop, would cost a
/// third of the whole scrape.
class ScrapeCache {
 public:
  using Clock = std::chrono::steady_clock;

  /// The snapshot and when it was read; null before the first poll.
  struct Latest {
    std::shared_ptr<const collect::Snapshot> snapshot;
    Clock::time_point read;
  };

  /// The source of snapshots. Called on the loop's thread.
  struct Source {
    std::function<Latest()> latest;
    std::function<std::shared_ptr<const exposition::SelfReading>()> read_self;
    std::function<void()> poll;  ///< begins a poll, unless one is running
  };

  /// Both outlive it; the owner joins `worker` before this ends.
  ScrapeCache(boost::asio::io_context& loop, boost::asio::thread_pool& worker, Source source);

  void set_max_age(std::chrono::nanoseconds max_age) { max_age_ = max_age; }
  /// Scrapes that may be queued at a time, whole and selected ones each; beyond: 503. 0: no limit.
  void set_max_jobs(std::size_t max) { max_jobs_ = max; }

  /// Responds with the metrics as `options` select, compressed with `gzip`.
  void answer(const exposition::RenderOptions& options, bool gzip, http::Respond respond);

  /// A poll has ended: answers the requests that wait for it.
  void polled();

  /// Drops all waiting requests, and lets the loop run out of work.
  void stop();

 private:
  /// A rendered scrape, or one to be rendered.
  struct RenderJob {
    exposition::RenderOptions options;
    bool gzip = false;
    std::weak_ptr<const collect::Snapshot> snapshot;  ///< weak, as a snapshot keeps cgroups open
    Clock::time_point begun = {};
    bool is_begun = false;               ///< else it is queued
    http::Body body;                     ///< null until it is rendered
    std::vector<http::Respond> waiting;  ///< clients to answer
  };
  struct Request {
    exposition::RenderOptions options;
    bool gzip = false;
    http::Respond respond;
  };

  /// Scrapes of one kind, whole or of selected groups.
  struct Shelf {
    std::vector<std::shared_ptr<RenderJob>> kept;   ///< queued or rendered, the oldest first
    std::deque<std::shared_ptr<RenderJob>> queued;  ///< and not begun
  };

  /// The input and output of a job.
  struct Work {
    std::shared_ptr<RenderJob> job;
    std::shared_ptr<const collect::Snapshot> snapshot;
    std::shared_ptr<const exposition::SelfReading> self;
    BufferPool::Buffer text;
    BufferPool::Buffer compressed;  ///< null: not compressed
  };

  bool is_stale() const;
  void await_poll(Request request);
  void serve_waiting();
  void serve(Request request);
  bool is_true(const RenderJob& job) const;
  Shelf& shelf_of(const exposition::RenderOptions& options);
  void enqueue(Shelf& shelf, Request request);
  std::shared_ptr<RenderJob> take_next();
  void work_on_next();
  Work prepare(std::shared_ptr<RenderJob> job);
  bool may_render_here() const;
  void render_here();
  void render(const Work& work);
  void finish(Work work);
  void forget_old(Shelf& shelf);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& worker_;
  Source source_;
  std::chrono::nanoseconds max_age_ = std::chrono::milliseconds{500};
  std::size_t max_jobs_ = 0;
  std::vector<Request> awaiting_poll_;
  boost::asio::steady_timer poll_timeout_;  ///< a poll that hangs must not make scrapes hang
  Shelf whole_;
  Shelf selected_;
  std::shared_ptr<RenderJob> in_work_;  ///< null: nothing is being rendered
  bool last_was_whole_ = false;         ///< the last job taken was a whole scrape
  std::size_t whole_bytes_ = std::numeric_limits<std::size_t>::max();  ///< of the last whole text
  bool has_rendered_here_ = false;  ///< on the loop, since the last poll
  BufferPool texts_;
  BufferPool compressed_;  ///< much smaller
  bool stopped_ = false;

  // Used by the worker; by the loop while the worker is idle.
  exposition::Renderer renderer_;
  http::Gzip gzip_;
};

}  // namespace pex::daemon
