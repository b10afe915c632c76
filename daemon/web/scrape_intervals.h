#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace pex::daemon {

/// How often clients scrape. A client is an address and what it requests, so that a server with two
/// scrapes of different groups is two clients. Several servers behind one address look like one
/// that scrapes irregularly.
class ScrapeIntervals {
 public:
  using Clock = std::chrono::steady_clock;

  void add(const std::string& client, Clock::time_point now);

  /// The longest interval among regular clients: their last four scrapes came at intervals that
  /// differ by at most a quarter, and the next one is not overdue. Empty if there are none.
  std::optional<Clock::duration> longest(Clock::time_point now) const;

 private:
  static constexpr std::size_t kMaxClients = 64;
  static constexpr std::size_t kIntervals = 3;

  struct Client {
    Clock::time_point last;
    std::array<Clock::duration, kIntervals> intervals = {};
    std::size_t scrapes = 1;

    std::optional<Clock::duration> interval(Clock::time_point now) const;
  };
  void make_room();

  std::map<std::string, Client> clients_;
};

}  // namespace pex::daemon
