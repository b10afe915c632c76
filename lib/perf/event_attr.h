#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace pex::perf {

/// perf_event_attr of Linux 6.19, with the fields of that structure in its layout, whatever headers
/// this is built with. Where the kernel's header has a union, the name is that of the first member.
/// The flags, bit-fields there, are one word here, so that a table can hold them
/// (sampling_table.h). Source: include/uapi/linux/perf_event.h.
///
/// Example:
///   EventAttr attr;
///   attr.size = sizeof attr;
///   attr.type = PERF_TYPE_SOFTWARE;
///   attr.config = PERF_COUNT_SW_DUMMY;
///   attr.flags = attr_flag(AttrFlag::kTask) | attr_flag(AttrFlag::kSampleIdAll);
struct EventAttr {
  std::uint32_t type = 0;  ///< PERF_TYPE_*, or the number of a dynamic PMU
  std::uint32_t size =
      0;  ///< how much of this the kernel is to read; it answers E2BIG with its own
  std::uint64_t config = 0;
  std::uint64_t sample_period = 0;  ///< or sample_freq, with the flag freq
  std::uint64_t sample_type = 0;    ///< PERF_SAMPLE_*
  std::uint64_t read_format = 0;    ///< PERF_FORMAT_*
  std::uint64_t flags = 0;          ///< bits of AttrFlag, and precise_ip
  std::uint32_t wakeup_events = 0;  ///< or wakeup_watermark, with the flag watermark
  std::uint32_t bp_type = 0;
  std::uint64_t config1 = 0;             ///< or bp_addr, kprobe_func, uprobe_path
  std::uint64_t config2 = 0;             ///< or bp_len, kprobe_addr, probe_offset
  std::uint64_t branch_sample_type = 0;  ///< PERF_SAMPLE_BRANCH_*
  std::uint64_t sample_regs_user = 0;
  std::uint32_t sample_stack_user = 0;
  std::int32_t clockid = 0;
  std::uint64_t sample_regs_intr = 0;
  std::uint32_t aux_watermark = 0;
  std::uint16_t sample_max_stack = 0;
  std::uint16_t reserved_2 = 0;
  std::uint32_t aux_sample_size = 0;
  std::uint32_t aux_action = 0;  ///< bits of AuxAction
  std::uint64_t sig_data = 0;
  std::uint64_t config3 = 0;
  std::uint64_t config4 = 0;

  bool operator==(const EventAttr&) const = default;
};
static_assert(sizeof(EventAttr) == 144 && offsetof(EventAttr, config4) == 136);

/// The bit-fields of perf_event_attr, in their order: each is the number of its bit.
enum class AttrFlag : unsigned {
  kDisabled,
  kInherit,
  kPinned,
  kExclusive,
  kExcludeUser,
  kExcludeKernel,
  kExcludeHv,
  kExcludeIdle,
  kMmap,
  kComm,
  kFreq,
  kInheritStat,
  kEnableOnExec,
  kTask,
  kWatermark,
  kPreciseIp,  ///< of two bits
  kMmapData = 17,
  kSampleIdAll,
  kExcludeHost,
  kExcludeGuest,
  kExcludeCallchainKernel,
  kExcludeCallchainUser,
  kMmap2,
  kCommExec,
  kUseClockid,
  kContextSwitch,
  kWriteBackward,
  kNamespaces,
  kKsymbol,
  kBpfEvent,
  kAuxOutput,
  kCgroup,
  kTextPoke,
  kBuildId,
  kInheritThread,
  kRemoveOnExec,
  kSigtrap,
  kDeferCallchain,
  kDeferOutput,
};
inline constexpr unsigned kPreciseIpBits = 2;

/// The bit-fields of aux_action, in their order.
enum class AuxAction : unsigned { kStartPaused, kPause, kResume };

/// `value` in the bit-field of `width` bits that begins at bit `first` of a word.
template <typename Word>
constexpr Word bit_field(unsigned first, unsigned width, Word value) {
  constexpr unsigned kBits = 8 * sizeof(Word);
  return value << (std::endian::native == std::endian::little ? first : kBits - first - width);
}

constexpr std::uint64_t attr_flag(AttrFlag flag) {
  return bit_field<std::uint64_t>(static_cast<unsigned>(flag), 1, 1);
}
constexpr std::uint64_t precise_ip(std::uint64_t skid) {
  return bit_field(static_cast<unsigned>(AttrFlag::kPreciseIp), kPreciseIpBits, skid);
}
constexpr std::uint32_t aux_action(AuxAction action) {
  return bit_field<std::uint32_t>(static_cast<unsigned>(action), 1, 1);
}

/// PERF_ATTR_SIZE_VER7 and later; those before are in the header of every supported distribution.
inline constexpr std::uint32_t kAttrSizeVer7 = 128;
inline constexpr std::uint32_t kAttrSizeVer8 = 136;
inline constexpr std::uint32_t kAttrSizeVer9 = 144;

}  // namespace pex::perf
