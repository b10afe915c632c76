#include "bench/bpf/bpf_system_call.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace pex::bench {
namespace {

/// Without it, the kernel refuses the functions that read events.
constexpr const char* kLicense = "Dual MIT/GPL";
constexpr std::size_t kLogBytes = 1 << 20;

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

int call(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

Result<UniqueFd> descriptor(int fd, const char* attempted) {
  if (fd >= 0) return UniqueFd{fd};
  return Error{errno, attempted, "run as root, on a kernel with BPF that is not locked down"};
}

bpf_attr entry(int map, const void* key, const void* value) {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(map);
  attributes.key = address(key);
  attributes.value = address(value);
  return attributes;
}

/// The last line that says something: it is followed by statistics.
std::string reason_in(std::string_view log) {
  std::string reason;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (!line.empty() && line.find("processed ") != 0) reason = line;
  }
  return reason;
}

}  // namespace

Result<UniqueFd> create_map(const BpfMapShape& shape) {
  bpf_attr attributes{};
  attributes.map_type = shape.type;
  attributes.key_size = shape.key_bytes;
  attributes.value_size = shape.value_bytes;
  attributes.max_entries = shape.entries;
  return descriptor(call(BPF_MAP_CREATE, attributes), "create a BPF map");
}

Result<> update_entry(int map, const void* key, const void* value) {
  bpf_attr attributes = entry(map, key, value);
  attributes.flags = BPF_ANY;
  if (call(BPF_MAP_UPDATE_ELEM, attributes) == 0) return {};
  return Error{errno, "write to a BPF map", {}};
}

bool look_up_entry(int map, const void* key, void* value) {
  bpf_attr attributes = entry(map, key, value);
  return call(BPF_MAP_LOOKUP_ELEM, attributes) == 0;
}

bool next_key(int map, const void* key, void* next) {
  bpf_attr attributes = entry(map, key, next);
  return call(BPF_MAP_GET_NEXT_KEY, attributes) == 0;
}

Result<UniqueFd> load_tracing_program(std::span<const bpf_insn> instructions,
                                      std::uint32_t tracepoint) {
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_TRACING;
  attributes.expected_attach_type = BPF_TRACE_RAW_TP;
  attributes.attach_btf_id = tracepoint;
  attributes.insns = address(instructions.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  attributes.license = address(kLicense);
  const int fd = call(BPF_PROG_LOAD, attributes);
  if (fd >= 0 || (errno != EACCES && errno != EINVAL)) return descriptor(fd, "load a BPF program");

  const int refused = errno;
  std::string log(kLogBytes, '\0');
  attributes.log_buf = address(log.data());
  attributes.log_size = static_cast<std::uint32_t>(log.size());
  attributes.log_level = 1;
  const UniqueFd unused{call(BPF_PROG_LOAD, attributes)};
  return Error{refused, "load a BPF program: " + reason_in(log.c_str()), {}};
}

Result<UniqueFd> attach(int program) {
  bpf_attr attributes{};
  attributes.raw_tracepoint.prog_fd = static_cast<std::uint32_t>(program);
  return descriptor(call(BPF_RAW_TRACEPOINT_OPEN, attributes), "attach a BPF program");
}

}  // namespace pex::bench
