#include "daemon/web/scrape_cache.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "http/answer.h"

namespace pex::daemon {
namespace {

namespace asio = boost::asio;

/// Much less than the ten seconds of Prometheus' default scrape timeout.
constexpr std::chrono::seconds kPollTimeout{2};

/// A text of that size is rendered and compressed in a quarter of a millisecond with cold caches.
constexpr std::size_t kSmallText = 32 * 1024;

/// Scrapes kept of each shelf: all that are possible without a selection. Further ones are rendered
/// again.
constexpr std::size_t kMaxKept = 8;
/// Unused buffers of each kind: one for each format.
constexpr std::size_t kMaxFree = 2;

http::Response response_of(const http::Body& body, exposition::Format format, bool gzip) {
  http::Response response;
  response.content_type = exposition::content_type(format);
  response.body = body;
  response.headers = {{"Vary", "Accept, Accept-Encoding"}};
  if (gzip) response.headers.push_back({"Content-Encoding", "gzip"});
  return response;
}

}  // namespace

ScrapeCache::ScrapeCache(asio::io_context& loop, asio::thread_pool& worker, Source source)
    : loop_(loop), worker_(worker), source_(std::move(source)), poll_timeout_(loop) {}

void ScrapeCache::answer(const exposition::RenderOptions& options, bool gzip,
                         http::Respond respond) {
  Request request{options, gzip, std::move(respond)};
  if (is_stale() && !stopped_) {
    await_poll(std::move(request));
  } else {
    serve(std::move(request));
  }
}

bool ScrapeCache::is_stale() const {
  const Latest latest = source_.latest();
  return latest.snapshot && Clock::now() - latest.read > max_age_;
}

void ScrapeCache::await_poll(Request request) {
  awaiting_poll_.push_back(std::move(request));
  if (awaiting_poll_.size() > 1) return;
  poll_timeout_.expires_after(kPollTimeout);
  poll_timeout_.async_wait([this](const boost::system::error_code& cancelled) {
    // A wait that ended before it was cancelled reports no error, and would concern later requests.
    if (!cancelled && poll_timeout_.expiry() <= Clock::now()) serve_waiting();
  });
  source_.poll();
}

void ScrapeCache::polled() {
  has_rendered_here_ = false;
  serve_waiting();
}

void ScrapeCache::serve_waiting() {
  if (awaiting_poll_.empty()) return;
  poll_timeout_.cancel();
  for (Request& request : std::exchange(awaiting_poll_, {})) serve(std::move(request));
}

ScrapeCache::Shelf& ScrapeCache::shelf_of(const exposition::RenderOptions& options) {
  return options.selection == exposition::Selection{} ? whole_ : selected_;
}

void ScrapeCache::serve(Request request) {
  Shelf& shelf = shelf_of(request.options);
  const auto known = std::find_if(
      shelf.kept.begin(), shelf.kept.end(), [&](const std::shared_ptr<RenderJob>& each) {
        return each->options == request.options && each->gzip == request.gzip && is_true(*each);
      });
  if (known == shelf.kept.end()) return enqueue(shelf, std::move(request));
  if ((*known)->body) {
    return request.respond(response_of((*known)->body, request.options.format, request.gzip));
  }
  (*known)->waiting.push_back(std::move(request.respond));
}

/// The exporter's own metrics are in it too, and age even if no poll ends. A job that has not begun
/// will be current.
bool ScrapeCache::is_true(const RenderJob& job) const {
  if (!job.is_begun) return true;
  return job.snapshot.lock() == source_.latest().snapshot && Clock::now() - job.begun <= max_age_;
}

void ScrapeCache::enqueue(Shelf& shelf, Request request) {
  const bool is_in_work = in_work_ && &shelf_of(in_work_->options) == &shelf;
  const std::size_t jobs = shelf.queued.size() + (is_in_work ? 1 : 0);
  if (max_jobs_ > 0 && jobs >= max_jobs_) {
    return request.respond(http::unavailable("too many scrapes are being rendered"));
  }
  forget_old(shelf);
  auto job = std::make_shared<RenderJob>();
  job->options = std::move(request.options);
  job->gzip = request.gzip;
  job->waiting.push_back(std::move(request.respond));
  shelf.kept.push_back(job);
  shelf.queued.push_back(std::move(job));
  if (in_work_) return;
  may_render_here() ? render_here() : work_on_next();
}

/// Null if nothing is queued. Scrapes without a selection come first, as they are few; but not
/// twice in a row while a selected one waits, so that clients who keep requesting whole scrapes
/// cannot starve it.
std::shared_ptr<ScrapeCache::RenderJob> ScrapeCache::take_next() {
  const bool is_selected_due = last_was_whole_ && !selected_.queued.empty();
  last_was_whole_ = !is_selected_due && !whole_.queued.empty();
  Shelf& shelf = last_was_whole_ ? whole_ : selected_;
  if (shelf.queued.empty()) return nullptr;
  std::shared_ptr<RenderJob> next = shelf.queued.front();
  shelf.queued.pop_front();
  return next;
}

/// One at a time, so that there is memory for one only.
void ScrapeCache::work_on_next() {
  in_work_ = take_next();
  if (!in_work_) return;
  // Everything is moved on, so that the worker keeps nothing of a finished job.
  asio::post(worker_, [this, work = prepare(in_work_)]() mutable {
    render(work);
    asio::post(loop_, [this, work = std::move(work)]() mutable { finish(std::move(work)); });
  });
}

/// The pace of the polls bounds the work for all clients together, however many different scrapes
/// they request.
bool ScrapeCache::may_render_here() const {
  return !has_rendered_here_ && whole_bytes_ <= kSmallText && source_.latest().snapshot;
}

void ScrapeCache::render_here() {
  has_rendered_here_ = true;
  in_work_ = take_next();
  Work work = prepare(in_work_);
  render(work);
  finish(std::move(work));
}

/// What was published after the job was queued is as good as the snapshot of that time.
ScrapeCache::Work ScrapeCache::prepare(std::shared_ptr<RenderJob> job) {
  Work work;
  work.snapshot = source_.latest().snapshot;
  job->snapshot = work.snapshot;
  job->begun = Clock::now();
  job->is_begun = true;
  work.self = source_.read_self();
  work.text = texts_.take();
  if (job->gzip) work.compressed = compressed_.take();
  work.job = std::move(job);
  return work;
}

void ScrapeCache::render(const Work& work) {
  renderer_.render(work.snapshot.get(), *work.self, work.job->options, work.text);
  if (work.compressed) gzip_.compress(*work.text, *work.compressed);
}

void ScrapeCache::finish(Work work) {
  RenderJob& job = *work.job;
  if (&shelf_of(job.options) == &whole_) whole_bytes_ = work.text->size();
  job.body = work.compressed ? std::move(work.compressed) : std::move(work.text);
  in_work_ = nullptr;
  if (!stopped_) work_on_next();
  for (const http::Respond& respond : std::exchange(job.waiting, {})) {
    respond(response_of(job.body, job.options.format, job.gzip));
  }
}

/// Also drops the oldest if there are too many. A queued one is still answered: the queue holds it.
void ScrapeCache::forget_old(Shelf& shelf) {
  std::erase_if(shelf.kept, [this](const auto& each) { return !is_true(*each); });
  if (shelf.kept.size() >= kMaxKept) shelf.kept.erase(shelf.kept.begin());
  texts_.trim(kMaxFree);
  compressed_.trim(kMaxFree);
}

void ScrapeCache::stop() {
  stopped_ = true;
  poll_timeout_.cancel();
  awaiting_poll_.clear();
}

}  // namespace pex::daemon
