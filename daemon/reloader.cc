#include "daemon/reloader.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace pex::daemon {

namespace asio = boost::asio;

Reloader::Reloader(asio::io_context& loop, Steps steps) : loop_(loop), steps_(std::move(steps)) {}

Reloader::~Reloader() { thread_.join(); }

void Reloader::request(Answer answer) {
  answered_next_.push_back(std::move(answer));
  if (!is_running_) begin();
}

void Reloader::begin() {
  if (is_stopped_) return;
  is_running_ = true;
  answered_now_ = std::exchange(answered_next_, {});
  steps_.begin();
  asio::post(thread_, [this] {
    asio::post(loop_, [this, planned = steps_.plan()]() mutable { use(std::move(planned)); });
  });
}

void Reloader::use(Result<Counting, std::vector<Error>> planned) {
  if (is_stopped_) return;
  if (!planned) return end(planned.error());
  std::unique_ptr<Collector> old = steps_.release(*planned);
  if (!old) return adopt(std::move(*planned));
  asio::post(thread_, [this, old = std::move(old), counting = std::move(*planned)]() mutable {
    const std::vector<int> cpus = old->end();
    old.reset();
    asio::post(loop_, [this, cpus, counting = std::move(counting)]() mutable {
      if (is_stopped_) return;
      if (!cpus.empty()) steps_.left_behind(cpus);
      adopt(std::move(counting));
    });
  });
}

void Reloader::adopt(Counting counting) {
  steps_.adopt(std::move(counting));
  end({});
}

void Reloader::end(const Outcome& outcome) {
  is_running_ = false;
  steps_.end(outcome);
  for (const Answer& answer : std::exchange(answered_now_, {})) answer(outcome);
  if (!answered_next_.empty()) begin();
}

}  // namespace pex::daemon
