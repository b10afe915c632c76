#include "daemon/web/scrape_cache.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "http/answer.h"

namespace pex::daemon {
namespace {

namespace asio = boost::asio;

/// Much less than the ten seconds that Prometheus waits for a scrape.
constexpr std::chrono::seconds kPatience{2};

/// Texts of each shelf that are kept at a time: all that there can be without a selection. More are
/// rendered again.
constexpr std::size_t kMaxKept = 8;
/// Buffers of each kind that wait to be used again: one for each format.
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
    : loop_(loop), worker_(worker), source_(std::move(source)), patience_(loop) {}

void ScrapeCache::answer(const exposition::Wanted& wanted, bool gzip, http::Respond respond) {
  Request request{wanted, gzip, std::move(respond)};
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
  patience_.expires_after(kPatience);
  patience_.async_wait([this](const boost::system::error_code& cancelled) {
    // A wait that was over when it was cancelled is not told so, and would be for those who came
    // since.
    if (!cancelled && patience_.expiry() <= Clock::now()) polled();
  });
  source_.poll();
}

void ScrapeCache::polled() {
  patience_.cancel();
  for (Request& request : std::exchange(awaiting_poll_, {})) serve(std::move(request));
}

ScrapeCache::Shelf& ScrapeCache::shelf_of(const exposition::Wanted& wanted) {
  return wanted.selection == exposition::Selection{} ? whole_ : selected_;
}

void ScrapeCache::serve(Request request) {
  Shelf& shelf = shelf_of(request.wanted);
  const auto known = std::find_if(
      shelf.kept.begin(), shelf.kept.end(), [&](const std::shared_ptr<Rendering>& each) {
        return each->wanted == request.wanted && each->gzip == request.gzip && is_true(*each);
      });
  if (known != shelf.kept.end() && (*known)->body) {
    return request.respond(response_of((*known)->body, request.wanted.format, request.gzip));
  }
  const bool is_new = known == shelf.kept.end();
  const bool is_in_work = in_work_ && &shelf_of(in_work_->wanted) == &shelf;
  const std::size_t orders = shelf.ordered.size() + (is_in_work ? 1 : 0);
  if (is_new && max_orders_ > 0 && orders >= max_orders_) {
    return request.respond(http::unavailable("too many texts are being rendered"));
  }
  const std::shared_ptr<Rendering> rendering = is_new ? order(shelf, request) : *known;
  rendering->waiting.push_back(std::move(request.respond));
}

/// The exporter's own metrics are in it as well, and grow old even when no poll ends. What is not
/// begun yet will be true.
bool ScrapeCache::is_true(const Rendering& rendering) const {
  if (!rendering.is_begun) return true;
  return rendering.snapshot.lock() == source_.latest().snapshot &&
         Clock::now() - rendering.begun <= max_age_;
}

std::shared_ptr<ScrapeCache::Rendering> ScrapeCache::order(Shelf& shelf, const Request& request) {
  forget_old(shelf);
  auto rendering = std::make_shared<Rendering>();
  rendering->wanted = request.wanted;
  rendering->gzip = request.gzip;
  shelf.kept.push_back(rendering);
  shelf.ordered.push_back(rendering);
  if (!in_work_) work();
  return rendering;
}

/// Null when nothing is ordered. Whole texts first, of which there are few; but not twice in a row
/// where a selected one waits, so that nobody who keeps ordering whole ones starves it.
std::shared_ptr<ScrapeCache::Rendering> ScrapeCache::take_next() {
  const bool is_selected_due = last_was_whole_ && !selected_.ordered.empty();
  last_was_whole_ = !is_selected_due && !whole_.ordered.empty();
  Shelf& shelf = last_was_whole_ ? whole_ : selected_;
  if (shelf.ordered.empty()) return nullptr;
  const std::shared_ptr<Rendering> next = shelf.ordered.front();
  shelf.ordered.pop_front();
  return next;
}

/// One at a time, so that there is memory for one only. What has been published since it was
/// ordered is as good as what was there then.
void ScrapeCache::work() {
  in_work_ = take_next();
  if (!in_work_) return;
  std::shared_ptr<Rendering> next = in_work_;
  auto snapshot = source_.latest().snapshot;
  next->snapshot = snapshot;
  next->begun = Clock::now();
  next->is_begun = true;
  BufferPool::Buffer text = texts_.take();
  BufferPool::Buffer compressed = next->gzip ? compressed_.take() : nullptr;
  // Everything is moved on, so that when it is finished nothing of it is left with the worker.
  asio::post(worker_, [this, next = std::move(next), snapshot = std::move(snapshot),
                       self = source_.read_self(), text = std::move(text),
                       compressed = std::move(compressed)]() mutable {
    renderer_.render(snapshot.get(), *self, next->wanted, *text);
    if (compressed) gzip_.compress(*text, *compressed);
    asio::post(loop_, [this, next = std::move(next), snapshot = std::move(snapshot),
                       text = std::move(text), compressed = std::move(compressed)]() mutable {
      finish(*next, compressed ? std::move(compressed) : std::move(text));
    });
  });
}

void ScrapeCache::finish(Rendering& rendering, http::Body body) {
  rendering.body = std::move(body);
  in_work_ = nullptr;
  if (!stopped_) work();
  for (const http::Respond& respond : std::exchange(rendering.waiting, {})) {
    respond(response_of(rendering.body, rendering.wanted.format, rendering.gzip));
  }
}

/// Also the oldest of too many. One that is ordered is still answered: its order holds it.
void ScrapeCache::forget_old(Shelf& shelf) {
  std::erase_if(shelf.kept, [this](const auto& each) { return !is_true(*each); });
  if (shelf.kept.size() >= kMaxKept) shelf.kept.erase(shelf.kept.begin());
  texts_.trim(kMaxFree);
  compressed_.trim(kMaxFree);
}

void ScrapeCache::stop() {
  stopped_ = true;
  patience_.cancel();
  awaiting_poll_.clear();
}

}  // namespace pex::daemon
