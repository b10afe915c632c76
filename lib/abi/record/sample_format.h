#pragma once

#include <cstdint>

namespace pex::perf {

/// The values of perf_event_attr that the layout of an event's records depends on, and nothing else
/// (perf_event_open(2)). They are those of the attribute that the kernel accepted.
///
/// Example:
///   SampleFormat format;
///   format.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
///   format.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
///   format.sample_id_all = true;  // other records than samples have their time as well
struct SampleFormat {
  std::uint64_t sample_type = 0;  ///< PERF_SAMPLE_*: the fields of a sample
  std::uint64_t read_format = 0;  ///< PERF_FORMAT_*: the values of PERF_SAMPLE_READ and of read(2)

  /// PERF_SAMPLE_BRANCH_*, for PERF_SAMPLE_BRANCH_STACK. With PERF_SAMPLE_BRANCH_COUNTERS if any
  /// event of the group has it: the kernel then adds counters to the samples of all of them.
  std::uint64_t branch_sample_type = 0;
  std::uint64_t sample_regs_user = 0;  ///< one bit a register, for PERF_SAMPLE_REGS_USER
  std::uint64_t sample_regs_intr = 0;  ///< one bit a register, for PERF_SAMPLE_REGS_INTR
  bool sample_id_all = false;          ///< records other than samples end with a SampleId

  bool operator==(const SampleFormat&) const = default;
};

}  // namespace pex::perf
