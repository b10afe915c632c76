#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/poll/assistant.h"
#include "bench/support/cost.h"
#include "host/roots.h"

namespace pex::bench {

struct Scenario {
  std::size_t cgroups = 0;  ///< 0: the CPUs themselves are counted instead
  std::string glob;         ///< of the cgroups
  std::size_t cpus = 0;
  std::size_t rounds = 0;               ///< of the floor, and as many of the daemon
  std::chrono::milliseconds spacing{};  ///< from the start of one round to that of the next
  host::HostRoots roots;
  bool by_records = false;             ///< cgroups are, and there is no floor for that
  std::string left_out;                ///< CPUs that are not counted, as cpus.exclude has them
  std::function<void()> work = [] {};  ///< what else happens before each round of the daemon
};

/// Both run rounds of the floor and of the daemon in turns, in the orders fd, df, fd, ... The CPU
/// time of a round is that of the whole process from the moment the main thread starts it until it
/// wakes up again, when everything sleeps: one wake-up by a timer and one call that sets the round
/// going are in both. Nothing else happens in the process meanwhile.

/// One poll: from Collector::poll() to a published snapshot.
Result<Cost> measure_poll(const Scenario& scenario, Assistant& assistant);

/// One poll by the whole program, reported to its loop, and one scrape of it over HTTP.
Result<Cost> measure_poll_and_scrape(const Scenario& scenario, Assistant& assistant);

/// The same, compressed. The floor renders, compresses and answers as well (BareAnswer).
Result<Cost> measure_compressed_scrape(const Scenario& scenario, Assistant& assistant);

}  // namespace pex::bench
