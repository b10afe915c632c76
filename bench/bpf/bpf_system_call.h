#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::bench {

/// bpf(2), as far as it is needed here: no library, and no compiler for BPF.

struct BpfMapShape {
  bpf_map_type type{};
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t entries = 0;  ///< at most
};
Result<UniqueFd> create_map(const BpfMapShape& shape);

/// One entry. Values of maps for each CPU have one for each possible CPU, one after the other.
Result<> update_entry(int map, const void* key, const void* value);
/// False: there is no such entry.
bool look_up_entry(int map, const void* key, void* value);
/// The key after `key`, or the first one if that is null. False: there is none.
bool next_key(int map, const void* key, void* next);

/// A program that the kernel calls directly at a tracepoint; `tracepoint`: its number among the
/// types of the kernel. If the kernel's verifier refuses it, the error has its last line.
Result<UniqueFd> load_tracing_program(std::span<const bpf_insn> instructions,
                                      std::uint32_t tracepoint);
/// Runs it until the descriptor is closed.
Result<UniqueFd> attach(int program);

}  // namespace pex::bench
