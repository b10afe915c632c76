#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace pex::daemon {

/// How many descriptors this process has open. Kernels before 6.2 do not report it, and listing 65
/// 000 of them takes 0.1 s: there they are listed once a minute, on a separate thread.
class OpenFiles {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::minutes kListedAgainAfter{1};

  struct Source {
    std::function<std::optional<std::uint64_t>()> reported;  ///< by the kernel, at once
    std::function<std::optional<std::uint64_t>()> listed;    ///< slow
  };
  OpenFiles();  ///< of this process
  explicit OpenFiles(Source source);
  /// Waits for the end of a running list.
  ~OpenFiles();

  /// The number of now, or of the last list; nothing before the first list.
  std::optional<std::uint64_t> read(Clock::time_point now);

 private:
  void list();

  Source source_;
  std::optional<Clock::time_point> list_begun_;
  std::atomic<bool> is_listing_ = false;
  std::atomic<std::int64_t> last_list_ = -1;        ///< -1: none yet
  std::optional<boost::asio::thread_pool> thread_;  ///< from the first list on
};

}  // namespace pex::daemon
