#include "daemon/run/config_watch.h"

#include <utility>

namespace pex::daemon {

ConfigWatch::ConfigWatch(boost::asio::io_context& loop, Log& log, std::string file, OnDue on_due,
                         std::chrono::nanoseconds every)
    : on_due_(std::move(on_due)),
      looks_(loop, every,
             [this] {
               if (!files_.is_busy()) look();
               return true;
             }),
      files_(loop, log, "config file", "the configuration '" + file + "'"),
      creation_(std::make_shared<CreationWatch>(file)) {
  known_.add(std::move(file));
  seen_ = known_;
}

void ConfigWatch::file_is_read(FileFingerprints now) {
  known_ = seen_ = std::move(now);
  looks_until_next_try_ = looks_unlike_the_last_ = 0;
  is_created_.reset();
}

void ConfigWatch::before_reading(std::function<void()> read) {
  files_.run([this, known = known_, read = std::move(read)]() -> std::function<void()> {
    FileFingerprints now = known.again();
    return [this, now, read] {
      file_is_read(now);
      read();
    };
  });
}

void ConfigWatch::start() {
  creation_->follow();
  looks_.start();
}

void ConfigWatch::look() {
  files_.run([this, known = known_, creation = creation_]() -> std::function<void()> {
    creation->follow();
    FileFingerprints now = known.again();
    return [this, now, is_created = creation->take()] {
      if (looks_.is_running()) see(now, is_created);
    };
  });
}

void ConfigWatch::see(FileFingerprints now, std::optional<bool> is_created) {
  if (is_created) is_created_ = is_created;
  const bool is_stable = now == seen_;
  seen_ = std::move(now);
  looks_unlike_the_last_ = is_stable ? 0 : looks_unlike_the_last_ + 1;
  if (looks_unlike_the_last_ == kLooksOfAMinute) return on_due_(Reason::kNeverRests);
  if (is_stable && seen_ != known_) {
    const bool is_in_place =
        is_created_.value_or(seen_.are_as_written()) || seen_.are_files_of(known_);
    is_created_.reset();  // from now on it is the known one
    known_ = seen_;       // reported once, also if it is read only after another reload
    if (is_in_place) looks_until_next_try_ = 0;  // nor is it tried again
    return on_due_(is_in_place ? Reason::kWrittenInPlace : Reason::kReplaced);
  }
  if (looks_until_next_try_ > 0 && --looks_until_next_try_ == 0) on_due_(Reason::kNotAdopted);
}

void ConfigWatch::stop() {
  looks_.stop();
  files_.stop();
}

}  // namespace pex::daemon
