#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "count/ledger.h"

namespace pex::collect {

/// Adds what all CPUs have counted in a poll to the ledger, by rising CPU, in pieces that any
/// threads do. Only those cgroups take time that have changed on any CPU since the last poll.
class Joining {
 public:
  /// All outlive it. The cycles of `parts` have ended their parts of the poll.
  Joining(Ledger& ledger, std::vector<PollCycle*> parts);

  /// Each about a millisecond of work or less; none without cgroups.
  std::size_t pieces() const { return pieces_; }

  /// Adds one piece after another, until all have been begun; by any number of threads at the same
  /// time. True for the one that has ended the last of all.
  bool work();
  bool is_done() const { return done_ == pieces_; }
  /// Of them, once; different ones in parallel.
  void add(std::size_t piece);

  /// The totals, after all pieces.
  Snapshot take(const EventModels& models);

 private:
  Ledger& ledger_;
  std::vector<PollCycle*> parts_;
  std::uint64_t number_;    ///< of the snapshot
  std::size_t ranges_ = 0;  ///< of slots
  std::size_t pieces_ = 0;
  std::atomic<std::size_t> begun_ = 0;
  std::atomic<std::size_t> done_ = 0;
};

}  // namespace pex::collect
