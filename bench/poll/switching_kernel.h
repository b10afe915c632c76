#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bench/poll/instant_kernel.h"

namespace pex::bench {

/// An InstantKernel with rings as well, into which it writes what a switch between two cgroups
/// writes (perf::SwitchRing). Not thread-safe.
class SwitchingKernel final : public InstantKernel {
 public:
  using InstantKernel::InstantKernel;

  Result<perf::OpenCounter> open_event(perf::EventAttr& attr,
                                       const perf::EventTarget& target) override;
  Result<> control(int fd, perf::EventControl operation, std::uint64_t argument) override;
  Result<perf::Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) override;

  /// The cgroup has run for a millisecond on this CPU, each event of the last group there happened
  /// once, and it leaves. False: the ring has no room.
  bool leave(int cpu, std::uint64_t cgroup);

 private:
  struct Event {
    int cpu = -1;
    std::uint64_t id = 0;
  };
  /// A ring, and the last group that was attached to it.
  struct Ring {
    std::byte* page = nullptr;  ///< of the mapping, which whoever asked for it owns
    std::uint64_t head = 0;
    std::uint64_t leader = 0;
    std::uint64_t switches = 0;
  };

  std::map<int, Event> events_;  ///< by descriptor; not of rings that new cgroups are reported in
  std::map<int, Ring> rings_;    ///< by CPU
  std::vector<std::uint64_t> record_;
};

}  // namespace pex::bench
