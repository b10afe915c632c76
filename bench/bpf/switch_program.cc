#include "bench/bpf/switch_program.h"

#include <cstddef>
#include <utility>

namespace pex::bench {
namespace {

/// Of prev and next among the words of the tracepoint, which begin with whether it is preempted.
constexpr std::int16_t kPrev = 8;
constexpr std::int16_t kNext = 16;

/// On the stack, from its end on: the key, what an event is read into, and the sums of a cgroup
/// that has none yet.
constexpr std::int16_t kKey = -8;
constexpr std::int16_t kValue = kKey - static_cast<std::int16_t>(sizeof(bpf_perf_event_value));

constexpr std::int16_t word(std::size_t number) {
  return static_cast<std::int16_t>(number * sizeof(std::uint64_t));
}

/// Appends instructions (linux/bpf.h). Registers are BPF_REG_*; a label is where a jump is, for
/// land() to complete.
class Assembler {
 public:
  using Register = std::uint8_t;
  using Label = std::size_t;

  void load(Register to, Register from, std::int16_t offset) {
    append(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0);
  }
  void store(Register to, std::int16_t offset, Register from) {
    append(BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0);
  }
  void store_number(Register to, std::int16_t offset, std::int32_t number) {
    append(BPF_ST | BPF_MEM | BPF_DW, to, 0, offset, number);
  }
  void copy(Register to, Register from) { append(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(Register to, std::int32_t number) {
    append(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
  }
  void add(Register to, Register from) { append(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
  void add_number(Register to, std::int32_t number) {
    append(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number);
  }
  void subtract(Register to, Register from) { append(BPF_ALU64 | BPF_SUB | BPF_X, to, from, 0, 0); }
  void set_map(Register to, int map) {
    append(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, map);
    append(0, 0, 0, 0, 0);
  }
  void set_stack(Register to, std::int16_t offset) {
    copy(to, BPF_REG_10);
    add_number(to, offset);
  }
  void call(bpf_func_id function) { append(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
  Label jump_if_equal(Register one, Register other) {
    return append(BPF_JMP | BPF_JEQ | BPF_X, one, other, 0, 0);
  }
  Label jump_if_equal_number(Register one, std::int32_t number) {
    return append(BPF_JMP | BPF_JEQ | BPF_K, one, 0, 0, number);
  }
  Label jump_unless_equal_number(Register one, std::int32_t number) {
    return append(BPF_JMP | BPF_JNE | BPF_K, one, 0, 0, number);
  }
  /// The jump leads to what is appended next.
  void land(Label jump) {
    instructions_[jump].off = static_cast<std::int16_t>(instructions_.size() - jump - 1);
  }
  void exit() { append(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

  std::vector<bpf_insn> take() { return std::move(instructions_); }

 private:
  Label append(int code, Register to, Register from, std::int16_t offset, std::int32_t number) {
    bpf_insn instruction{};
    instruction.code = static_cast<std::uint8_t>(code);
    instruction.dst_reg = to & 0xf;
    instruction.src_reg = from & 0xf;
    instruction.off = offset;
    instruction.imm = number;
    instructions_.push_back(instruction);
    return instructions_.size() - 1;
  }

  std::vector<bpf_insn> instructions_;
};

/// Registers that calls do not change.
constexpr Assembler::Register kCpu = BPF_REG_6;
constexpr Assembler::Register kLast = BPF_REG_7;
constexpr Assembler::Register kSums = BPF_REG_8;

void load_cgroup(Assembler& code, Assembler::Register to, std::int16_t task,
                 const CgroupOfTask& way) {
  code.load(to, BPF_REG_1, task);
  code.load(to, to, way.css_set);
  code.load(to, to, way.cgroup);
}

/// Of the entry whose key is on the stack, or 0.
void look_up(Assembler& code, Assembler::Register to, int map) {
  code.set_map(BPF_REG_1, map);
  code.set_stack(BPF_REG_2, kKey);
  code.call(BPF_FUNC_map_lookup_elem);
  code.copy(to, BPF_REG_0);
}

/// Its sums are 0.
void insert(Assembler& code, const SwitchProgram& program) {
  const std::size_t events = program.is_late.size();
  const auto zeros = static_cast<std::int16_t>(kValue - word(events));
  for (std::size_t event = 0; event < events; ++event) {
    code.store_number(BPF_REG_10, static_cast<std::int16_t>(zeros + word(event)), 0);
  }
  code.set_map(BPF_REG_1, program.sums);
  code.set_stack(BPF_REG_2, kKey);
  code.set_stack(BPF_REG_3, zeros);
  code.set(BPF_REG_4, BPF_NOEXIST);
  code.call(BPF_FUNC_map_update_elem);
}

void add_event(Assembler& code, const SwitchProgram& program, std::size_t event) {
  code.set_map(BPF_REG_1, program.events);
  code.copy(BPF_REG_2, kCpu);
  code.add_number(BPF_REG_2, static_cast<std::int32_t>(event * program.cpus));
  code.set_stack(BPF_REG_3, kValue);
  code.set(BPF_REG_4, sizeof(bpf_perf_event_value));
  code.call(BPF_FUNC_perf_event_read_value);
  const Assembler::Label failed = code.jump_unless_equal_number(BPF_REG_0, 0);
  code.load(BPF_REG_1, BPF_REG_10, kValue);
  if (program.is_late[event]) code.add_number(BPF_REG_1, 1);
  code.load(BPF_REG_2, kLast, word(event));
  code.store(kLast, word(event), BPF_REG_1);
  code.subtract(BPF_REG_1, BPF_REG_2);
  code.load(BPF_REG_2, kSums, word(event));
  code.add(BPF_REG_2, BPF_REG_1);
  code.store(kSums, word(event), BPF_REG_2);
  code.land(failed);
}

}  // namespace

Result<CgroupOfTask> CgroupOfTask::find(const KernelTypes& types) {
  const Result<std::int16_t> css_set = types.offset_of("task_struct", "cgroups");
  if (!css_set) return css_set.error();
  const Result<std::int16_t> cgroup = types.offset_of("css_set", "dfl_cgrp");
  if (!cgroup) return cgroup.error();
  return CgroupOfTask{*css_set, *cgroup};
}

std::vector<bpf_insn> instructions_of(const SwitchProgram& program) {
  Assembler code;
  std::vector<Assembler::Label> to_the_end;
  load_cgroup(code, BPF_REG_2, kPrev, program.cgroup_of_task);
  load_cgroup(code, BPF_REG_3, kNext, program.cgroup_of_task);
  to_the_end.push_back(code.jump_if_equal(BPF_REG_2, BPF_REG_3));

  code.store_number(BPF_REG_10, kKey, 0);
  look_up(code, kLast, program.last);
  to_the_end.push_back(code.jump_if_equal_number(kLast, 0));

  code.call(BPF_FUNC_get_current_cgroup_id);
  code.store(BPF_REG_10, kKey, BPF_REG_0);
  look_up(code, kSums, program.sums);
  const Assembler::Label known = code.jump_unless_equal_number(kSums, 0);
  insert(code, program);
  look_up(code, kSums, program.sums);
  to_the_end.push_back(code.jump_if_equal_number(kSums, 0));
  code.land(known);

  code.call(BPF_FUNC_get_smp_processor_id);
  code.copy(kCpu, BPF_REG_0);
  for (std::size_t event = 0; event < program.is_late.size(); ++event) {
    add_event(code, program, event);
  }
  for (const Assembler::Label label : to_the_end) code.land(label);
  code.set(BPF_REG_0, 0);
  code.exit();
  return code.take();
}

}  // namespace pex::bench
