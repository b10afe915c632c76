#include "daemon/web/file_thread.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace pex::daemon {
namespace {

constexpr std::size_t kMaxWaiting = 16;

}  // namespace

FileThread::FileThread(boost::asio::io_context& loop, Log& log, const char* name, std::string files)
    : loop_(loop), log_(log), name_(name), files_(std::move(files)), hangs_(loop) {}

void FileThread::run(Work work) {
  const auto then = std::make_shared<std::function<void()>>();
  const auto begin = [work = std::move(work), then] { *then = work(); };
  const auto end = [this, then] {
    boost::asio::post(loop_, [this, then] {
      if (--waiting_ == 0) hangs_.cancel();
      (*then)();
    });
  };
  if (waiting_++ == 0) watch();
  if (!outbox_) {
    Result<std::unique_ptr<Outbox>> outbox = Outbox::create(name_, kMaxWaiting);
    if (outbox) outbox_ = std::move(*outbox);
  }
  if (outbox_ && outbox_->post(begin, end)) return;
  begin();
  end();
}

void FileThread::watch() {
  hangs_.expires_after(kHangs);
  hangs_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    log_.warn(Error{0,
                    "wait for the file system of " + files_ + ", which has not answered for " +
                        std::to_string(kHangs.count()) + " seconds: changes are not read",
                    "look whether its mount answers: stat -f on the directory"});
  });
}

void FileThread::stop() { hangs_.cancel(); }

}  // namespace pex::daemon
