#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <utility>

#include "perf/ring_buffer.h"

namespace pex::async {

/// Waits with Asio for the records of a ring. For the overflows of an event as well: the kernel
/// reports them through its ring (poll(2) of an event without a ring reports nothing), so open a
/// ring of one page, and set wakeup_events = 1.
///
/// For one thread at a time, as the ring itself: one thread, or a strand, runs the executor.
///
/// Example:
///   AsyncRing waiting{context.get_executor(), *ring};
///   waiting.async_wait([&](boost::system::error_code error) {
///     if (!error) ring->drain(visit);
///   });
class AsyncRing {
 public:
  /// `ring` and its event outlive this. A wait completes at once if at least `enough` bytes are
  /// unread: the kernel reports each wake-up once, and may do so while nobody waits.
  AsyncRing(const boost::asio::any_io_executor& executor, const perf::RingBuffer& ring,
            std::size_t enough = 1);
  /// Cancels what waits. The event stays open.
  ~AsyncRing();
  AsyncRing(AsyncRing&&) noexcept = default;
  AsyncRing& operator=(AsyncRing&&) = delete;

  /// Completes with void(error_code) at the next wake-up of the event, or at once if there is
  /// enough. Errors: operation_aborted after cancel(); eof if the thread of the event has ended,
  /// and nothing is unread, so that there will be nothing more; bad_descriptor if the kernel has
  /// disabled the event, as it does with a pinned one that lost its counter (since Linux 6.15). One
  /// wait at a time.
  template <typename CompletionToken>
  auto async_wait(CompletionToken&& token) {
    return boost::asio::async_compose<CompletionToken, void(boost::system::error_code)>(
        Wait{state_}, token, state_->descriptor);
  }

  /// What waits completes with operation_aborted.
  void cancel();

 private:
  /// Shared with what waits, which may be invoked when this is gone.
  struct State {
    State(const boost::asio::any_io_executor& executor, const perf::RingBuffer& waited_for,
          std::size_t least);
    bool has_enough() const;
    boost::system::error_code outcome(boost::system::error_code error) const;

    boost::asio::posix::stream_descriptor descriptor;  ///< borrowed: released, never closed
    const perf::RingBuffer* ring;                      ///< null when it is not to be looked at
    std::size_t enough;
    bool is_cancelled = false;
  };

  struct Wait {
    template <typename Self>
    void operator()(Self& self, boost::system::error_code error = {}) {
      const std::shared_ptr<State> kept = state;
      if (std::exchange(is_begun, true)) return self.complete(kept->outcome(error));
      kept->is_cancelled = false;
      kept->descriptor.async_wait(boost::asio::posix::descriptor_base::wait_read, std::move(self));
      // After that, not before: what is written in between is reported to the wait.
      if (kept->has_enough()) kept->descriptor.cancel();
    }

    std::shared_ptr<State> state;
    bool is_begun = false;
  };

  std::shared_ptr<State> state_;
};

}  // namespace pex::async
