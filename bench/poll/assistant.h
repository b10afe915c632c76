#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/support/cost.h"

namespace pex::bench {

/// What helps the process that is measured without being part of its CPU time: the process it was
/// forked from. This is the measured one's end of the line between them.
class Assistant {
 public:
  explicit Assistant(UniqueFd line) : line_(std::move(line)) {}

  /// Scrapes 127.0.0.1 over one connection for each port, which is kept alive; returns at once.
  void ask_to_scrape(std::uint16_t port, bool gzip = false);
  /// The bytes of that scrape's body, 0 when it failed; nothing as long as it goes on. Ask no more
  /// once there has been an answer.
  std::optional<std::uint64_t> scraped_bytes();

  void report(const Result<Cost>& cost);

 private:
  UniqueFd line_;
};

/// Runs `measure` in a process of its own, so that no scenario inherits the heap or the threads of
/// the one before, and assists it. Fails as it fails, and when SIGINT or SIGTERM arrives: they must
/// be blocked, so that what was set up for the measurement is always taken down again.
Result<Cost> measure_apart(const std::function<Result<Cost>(Assistant&)>& measure);

}  // namespace pex::bench
