#include "daemon/run/config_watch.h"

#include <utility>

namespace pex::daemon {

ConfigWatch::ConfigWatch(boost::asio::io_context& loop, std::string file, OnDue on_due,
                         std::chrono::nanoseconds every)
    : on_due_(std::move(on_due)), every_(every), timer_(loop) {
  known_.add(std::move(file));
  seen_ = known_;
}

void ConfigWatch::file_is_read() {
  known_ = seen_ = known_.again();
  looks_until_next_try_ = 0;
}

void ConfigWatch::start() {
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || is_stopped_) return;  // what has expired cannot be cancelled
    look();
    start();
  });
}

void ConfigWatch::look() {
  FileFingerprints now = known_.again();
  const bool is_stable = now == seen_;
  seen_ = std::move(now);
  if (is_stable && seen_ != known_) {
    const bool is_in_place = seen_.are_files_of(known_);
    known_ = seen_;  // reported once, also if it is read only after another reload
    if (is_in_place) looks_until_next_try_ = 0;  // nor is it tried again
    return on_due_(is_in_place ? Reason::kWrittenInPlace : Reason::kReplaced);
  }
  if (looks_until_next_try_ > 0 && --looks_until_next_try_ == 0) on_due_(Reason::kNotAdopted);
}

void ConfigWatch::stop() {
  is_stopped_ = true;
  timer_.cancel();
}

}  // namespace pex::daemon
