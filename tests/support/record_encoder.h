#pragma once

#include <linux/perf_event.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/record/sample_format.h"

// Records as the kernel writes them, from the comments of <linux/perf_event.h> and the functions of
// kernel/events/core.c that write them. It shares no table with the decoder: each order is spelled
// here once more.

namespace pex::test {

using Bytes = std::vector<std::byte>;

struct EncodedCounter {
  std::uint64_t value = 0;
  std::uint64_t id = 0;
  std::uint64_t lost = 0;
};

/// struct read_format. Without PERF_FORMAT_GROUP only the first counter is written.
struct EncodedReading {
  std::uint64_t time_enabled = 0;
  std::uint64_t time_running = 0;
  std::vector<EncodedCounter> counters = {{}};
};

struct EncodedRegisters {
  std::uint64_t abi = PERF_SAMPLE_REGS_ABI_NONE;
  std::vector<std::uint64_t> values;  ///< written unless abi is NONE
};

/// All that a sample may have. sample_type says what of it is written.
struct EncodedSample {
  std::uint64_t id = 0;  ///< IDENTIFIER and ID
  std::uint64_t ip = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint64_t time = 0;
  std::uint64_t addr = 0;
  std::uint64_t stream_id = 0;
  std::uint32_t cpu = 0;
  std::uint64_t period = 0;
  EncodedReading reading;
  std::vector<std::uint64_t> callchain;
  std::string raw;               ///< padded as the kernel does: 4 + size is a multiple of 8
  bool has_branch_stack = true;  ///< false: nr = 0 alone, as of a PMU that had none
  std::uint64_t hw_idx = 0;
  std::vector<std::array<std::uint64_t, 3>> branches;  ///< from, to, flags
  std::vector<std::uint64_t> branch_counters;          ///< as many
  EncodedRegisters user_registers;
  std::string stack;  ///< empty: of a kernel thread, without dyn_size
  std::uint64_t dyn_size = 0;
  std::uint64_t weight = 0;
  std::uint64_t data_src = 0;
  std::uint64_t transaction = 0;
  EncodedRegisters interrupt_registers;
  std::uint64_t phys_addr = 0;
  std::uint64_t cgroup = 0;
  std::uint64_t data_page_size = 0;
  std::uint64_t code_page_size = 0;
  std::string aux;
};

class RecordEncoder {
 public:
  RecordEncoder() = default;
  explicit RecordEncoder(std::uint32_t type, std::uint16_t misc = 0) { u32(type).u16(misc).u16(0); }

  RecordEncoder& u8(std::uint8_t value) { return number(value); }
  RecordEncoder& u16(std::uint16_t value) { return number(value); }
  RecordEncoder& u32(std::uint32_t value) { return number(value); }
  RecordEncoder& u64(std::uint64_t value) { return number(value); }
  RecordEncoder& words(std::span<const std::uint64_t> values) {
    for (const std::uint64_t value : values) u64(value);
    return *this;
  }
  RecordEncoder& bytes(std::string_view text) {
    const auto raw = std::as_bytes(std::span(text.data(), text.size()));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    return *this;
  }
  /// With a zero byte, padded with more of them to a multiple of 8.
  RecordEncoder& text(std::string_view text) {
    bytes(text).u8(0);
    while (bytes_.size() % 8 != 0) u8(0);
    return *this;
  }

  RecordEncoder& reading(std::uint64_t format, const EncodedReading& reading) {
    const bool group = (format & PERF_FORMAT_GROUP) != 0;
    const EncodedCounter& first = reading.counters.at(0);
    u64(group ? reading.counters.size() : first.value);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) u64(reading.time_enabled);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) u64(reading.time_running);
    for (const EncodedCounter& counter : reading.counters) {
      if (group) u64(counter.value);
      if (format & PERF_FORMAT_ID) u64(counter.id);
      if (format & PERF_FORMAT_LOST) u64(counter.lost);
      if (!group) break;
    }
    return *this;
  }

  RecordEncoder& sample(const perf::SampleFormat& format, const EncodedSample& s) {
    const std::uint64_t type = format.sample_type;
    if (type & PERF_SAMPLE_IDENTIFIER) u64(s.id);
    if (type & PERF_SAMPLE_IP) u64(s.ip);
    if (type & PERF_SAMPLE_TID) u32(s.pid).u32(s.tid);
    if (type & PERF_SAMPLE_TIME) u64(s.time);
    if (type & PERF_SAMPLE_ADDR) u64(s.addr);
    if (type & PERF_SAMPLE_ID) u64(s.id);
    if (type & PERF_SAMPLE_STREAM_ID) u64(s.stream_id);
    if (type & PERF_SAMPLE_CPU) u32(s.cpu).u32(0);
    if (type & PERF_SAMPLE_PERIOD) u64(s.period);
    if (type & PERF_SAMPLE_READ) reading(format.read_format, s.reading);
    if (type & PERF_SAMPLE_CALLCHAIN) u64(s.callchain.size()).words(s.callchain);
    if (type & PERF_SAMPLE_RAW) raw(s.raw);
    if (type & PERF_SAMPLE_BRANCH_STACK) branch_stack(format.branch_sample_type, s);
    if (type & PERF_SAMPLE_REGS_USER) registers(s.user_registers);
    if (type & PERF_SAMPLE_STACK_USER) {
      u64(s.stack.size()).bytes(s.stack);
      if (!s.stack.empty()) u64(s.dyn_size);
    }
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) u64(s.weight);
    if (type & PERF_SAMPLE_DATA_SRC) u64(s.data_src);
    if (type & PERF_SAMPLE_TRANSACTION) u64(s.transaction);
    if (type & PERF_SAMPLE_REGS_INTR) registers(s.interrupt_registers);
    if (type & PERF_SAMPLE_PHYS_ADDR) u64(s.phys_addr);
    if (type & PERF_SAMPLE_CGROUP) u64(s.cgroup);
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE) u64(s.data_page_size);
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE) u64(s.code_page_size);
    if (type & PERF_SAMPLE_AUX) u64(s.aux.size()).bytes(s.aux);
    return *this;
  }

  /// struct sample_id, if the event has sample_id_all.
  RecordEncoder& sample_id(const perf::SampleFormat& format, const EncodedSample& s) {
    if (!format.sample_id_all) return *this;
    const std::uint64_t type = format.sample_type;
    if (type & PERF_SAMPLE_TID) u32(s.pid).u32(s.tid);
    if (type & PERF_SAMPLE_TIME) u64(s.time);
    if (type & PERF_SAMPLE_ID) u64(s.id);
    if (type & PERF_SAMPLE_STREAM_ID) u64(s.stream_id);
    if (type & PERF_SAMPLE_CPU) u32(s.cpu).u32(0);
    if (type & PERF_SAMPLE_IDENTIFIER) u64(s.id);
    return *this;
  }

  /// What was written so far, without a header.
  const Bytes& body() const { return bytes_; }

  /// The record, with its size in the header: at most 65535 bytes.
  Bytes record() const {
    Bytes whole = bytes_;
    const auto size = static_cast<std::uint16_t>(whole.size());
    std::memcpy(whole.data() + 6, &size, sizeof(size));
    return whole;
  }

 private:
  template <typename T>
  RecordEncoder& number(T value) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    return *this;
  }

  void raw(const std::string& data) {
    std::string padded = data;
    while ((sizeof(std::uint32_t) + padded.size()) % 8 != 0) padded.push_back('\0');
    u32(static_cast<std::uint32_t>(padded.size())).bytes(padded);
  }

  void branch_stack(std::uint64_t options, const EncodedSample& s) {
    constexpr std::uint64_t kHwIndex = 1u << 17;
    constexpr std::uint64_t kCounters = 1u << 19;
    if (!s.has_branch_stack) {
      u64(0);
      return;
    }
    u64(s.branches.size());
    if (options & kHwIndex) u64(s.hw_idx);
    for (const auto& entry : s.branches) words(entry);
    if (options & kCounters) words(s.branch_counters);
  }

  void registers(const EncodedRegisters& registers) {
    u64(registers.abi);
    if (registers.abi != PERF_SAMPLE_REGS_ABI_NONE) words(registers.values);
  }

  Bytes bytes_;
};

/// A sample with values everywhere, for as many registers as `format` has.
inline EncodedSample full_sample(const perf::SampleFormat& format) {
  EncodedSample s;
  s.id = 0x1d;
  s.ip = 0x401000;
  s.pid = 100;
  s.tid = 101;
  s.time = 123456789;
  s.addr = 0x7fff0000;
  s.stream_id = 0x5d;
  s.cpu = 3;
  s.period = 4000;
  s.reading = {2000, 1000, {{11, 1, 0}, {22, 2, 5}}};
  s.callchain = {PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER, 0x401000};
  s.raw = "raw bytes";
  s.hw_idx = 7;
  s.branches = {{{0x1000, 0x2000, 0b10}}, {{0x3000, 0x4000, 0b01}}};
  s.branch_counters = {3, 4};
  const auto numbered = [](std::uint64_t mask) {
    EncodedRegisters registers{PERF_SAMPLE_REGS_ABI_64, {}};
    for (int at = 0; at < std::popcount(mask); ++at) registers.values.push_back(1000u + at);
    return registers;
  };
  s.user_registers = numbered(format.sample_regs_user);
  s.interrupt_registers = numbered(format.sample_regs_intr);
  s.stack = std::string(32, 's');
  s.dyn_size = 24;
  s.weight = 0x0003'0002'00000001;
  s.data_src = 0x68100142;
  s.transaction = 0x2a'0000'0002;
  s.phys_addr = 0x12345000;
  s.cgroup = 77;
  s.data_page_size = 4096;
  s.code_page_size = 2097152;
  s.aux = std::string(16, 'a');
  return s;
}

/// One record of each type that the kernel writes, and of both forms of MMAP2, the type of each
/// with it. All have values everywhere.
inline std::vector<std::pair<std::uint32_t, Bytes>> one_record_of_each_type(
    const perf::SampleFormat& format) {
  const EncodedSample s = full_sample(format);
  std::vector<std::pair<std::uint32_t, Bytes>> all;
  const auto add = [&](std::uint32_t type, RecordEncoder encoder) {
    if (type != PERF_RECORD_SAMPLE) encoder.sample_id(format, s);
    all.emplace_back(type, encoder.record());
  };
  const auto record = [](std::uint32_t type, std::uint16_t misc = PERF_RECORD_MISC_USER) {
    return RecordEncoder(type, misc);
  };
  const auto mapping = [&](std::uint32_t type, std::uint16_t misc = PERF_RECORD_MISC_USER) {
    return record(type, misc).u32(1).u32(2).u64(0x400000).u64(0x1000).u64(0x2000);
  };
  const auto life = [&](std::uint32_t type) {
    return record(type).u32(5).u32(1).u32(6).u32(2).u64(999);
  };
  const auto rate = [&](std::uint32_t type) { return record(type).u64(999).u64(8).u64(9); };

  add(PERF_RECORD_MMAP, mapping(PERF_RECORD_MMAP).text("/bin/true"));
  add(PERF_RECORD_LOST, record(PERF_RECORD_LOST).u64(8).u64(12));
  add(PERF_RECORD_COMM, record(PERF_RECORD_COMM).u32(1).u32(2).text("true"));
  add(PERF_RECORD_EXIT, life(PERF_RECORD_EXIT));
  add(PERF_RECORD_THROTTLE, rate(PERF_RECORD_THROTTLE));
  add(PERF_RECORD_UNTHROTTLE, rate(PERF_RECORD_UNTHROTTLE));
  add(PERF_RECORD_FORK, life(PERF_RECORD_FORK));
  add(PERF_RECORD_READ,
      record(PERF_RECORD_READ).u32(1).u32(2).reading(format.read_format, s.reading));
  add(PERF_RECORD_SAMPLE, record(PERF_RECORD_SAMPLE).sample(format, s));
  add(PERF_RECORD_MMAP2,
      mapping(PERF_RECORD_MMAP2).u32(8).u32(1).u64(4711).u64(2).u32(5).u32(2).text("/bin/true"));
  add(PERF_RECORD_MMAP2,
      mapping(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID)
          .u8(20)
          .u8(0)
          .u16(0)
          .bytes("twenty bytes, an id.")
          .u32(5)
          .u32(2)
          .text("/bin/true"));
  add(PERF_RECORD_AUX, record(PERF_RECORD_AUX).u64(4096).u64(512).u64(PERF_AUX_FLAG_PARTIAL));
  add(PERF_RECORD_ITRACE_START, record(PERF_RECORD_ITRACE_START).u32(1).u32(2));
  add(PERF_RECORD_LOST_SAMPLES, record(PERF_RECORD_LOST_SAMPLES).u64(12));
  add(PERF_RECORD_SWITCH, record(PERF_RECORD_SWITCH));
  add(PERF_RECORD_SWITCH_CPU_WIDE, record(PERF_RECORD_SWITCH_CPU_WIDE).u32(3).u32(4));
  add(PERF_RECORD_NAMESPACES,
      record(PERF_RECORD_NAMESPACES).u32(1).u32(2).u64(2).u64(4).u64(40).u64(5).u64(50));
  add(PERF_RECORD_KSYMBOL, record(PERF_RECORD_KSYMBOL)
                               .u64(0xffffffffc0000000)
                               .u32(64)
                               .u16(PERF_RECORD_KSYMBOL_TYPE_BPF)
                               .u16(PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
                               .text("bpf_prog_1"));
  add(PERF_RECORD_BPF_EVENT,
      record(PERF_RECORD_BPF_EVENT).u16(PERF_BPF_EVENT_PROG_LOAD).u16(0).u32(17).bytes("eightbyt"));
  add(PERF_RECORD_CGROUP, record(PERF_RECORD_CGROUP).u64(77).text("/system.slice"));
  // kernel/events/core.c, perf_event_text_poke(): padded to a multiple of 8.
  add(PERF_RECORD_TEXT_POKE,
      record(PERF_RECORD_TEXT_POKE).u64(0xffffffff81000000).u16(2).u16(5).bytes("oldnew.pads."));
  add(PERF_RECORD_AUX_OUTPUT_HW_ID, record(PERF_RECORD_AUX_OUTPUT_HW_ID).u64(6));
  constexpr std::uint32_t kCallchainDeferred = 22;
  add(kCallchainDeferred,
      record(kCallchainDeferred).u64(0xc00c1e).u64(2).u64(PERF_CONTEXT_USER).u64(0x401000));
  return all;
}

}  // namespace pex::test
