// Records of our rings as a file of perf(1), and what we make of such files:
//
//   records record EVENTS BYTES FILE.data COMMAND...   while the command runs, on all CPUs, with
//                                                      rings of so many bytes
//   records print FILE.data                            see record_lines.h
//
// EVENTS is the name of a set of events, below.

#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "abi/sampling.h"
#include "perf/linux_perf_kernel.h"
#include "perf/ring_buffer.h"
#include "perf_data.h"
#include "record_lines.h"

namespace pex::test {
namespace {

using perf::SamplingRequest;
using namespace std::chrono_literals;

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(describe(result.error()));
  return *std::move(result);
}
void expect(const Result<>& result) {
  if (!result) throw std::runtime_error(describe(result.error()));
}

constexpr std::uint64_t kIds = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
constexpr std::uint64_t kWhereAndWhen = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

/// perf wants the same of all events of a file.
constexpr std::uint64_t kReadFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                      PERF_FORMAT_TOTAL_TIME_RUNNING;

SamplingRequest event(std::uint32_t type, std::uint64_t config) {
  SamplingRequest request;
  request.event.type = type;
  request.event.config = config;
  request.sample_type = kIds | kWhereAndWhen;
  request.read_format = kReadFormat;
  request.disabled = false;
  return request;
}

SamplingRequest software_event(std::uint64_t config) { return event(PERF_TYPE_SOFTWARE, config); }
SamplingRequest hardware_event(std::uint64_t config) { return event(PERF_TYPE_HARDWARE, config); }

void add_side_band(SamplingRequest& request) {
  request.mmap = request.mmap2 = request.comm = request.comm_exec = request.task = true;
  request.context_switch = request.namespaces = request.cgroup = true;
  request.ksymbol = request.bpf_event = request.text_poke = true;
}

/// The events of a group, the leader first.
using Group = std::vector<SamplingRequest>;

/// All fields that samples of any event can have, with the counts of its group.
void add_all_fields(SamplingRequest& leader) {
  leader.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
                        PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                        PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
                        PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
                        PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
  leader.sample_regs_user = leader.sample_regs_intr = 0x1ff;  // the same on all machines
  leader.sample_stack_user = 256;
  leader.disabled = true;
  add_side_band(leader);
}

Group all_fields() {
  SamplingRequest clock = software_event(PERF_COUNT_SW_CPU_CLOCK);
  clock.frequency = 199;
  add_all_fields(clock);
  SamplingRequest faults = software_event(PERF_COUNT_SW_PAGE_FAULTS);
  faults.period = 100;
  faults.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT;
  return {clock, faults, software_event(PERF_COUNT_SW_CONTEXT_SWITCHES)};
}

/// All fields of samples that the interrupt of a counter writes.
Group hardware() {
  SamplingRequest cycles = hardware_event(PERF_COUNT_HW_CPU_CYCLES);
  cycles.frequency = 199;
  add_all_fields(cycles);
  // Samples of a task that executes a program would have a stack that Linux writes wrongly, with
  // which perf ends.
  cycles.sample_type &= ~std::uint64_t{PERF_SAMPLE_STACK_USER};
  cycles.sample_stack_user = 0;
  SamplingRequest instructions = hardware_event(PERF_COUNT_HW_INSTRUCTIONS);
  instructions.period = 5'000'000;
  instructions.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT;
  return {cycles, instructions, software_event(PERF_COUNT_SW_CONTEXT_SWITCHES)};
}

/// More samples than a kernel allows whose limit was lowered.
Group throttled() {
  SamplingRequest cycles = hardware_event(PERF_COUNT_HW_CPU_CYCLES);
  cycles.period = 100'000;
  cycles.disabled = true;
  return {cycles};
}

/// A sample for each switch from one cgroup to another, with the counts of a group.
Group switches() {
  SamplingRequest leader = software_event(PERF_COUNT_SW_CGROUP_SWITCHES);
  leader.period = 1;
  leader.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
  leader.disabled = true;
  leader.cgroup = true;
  Group group{leader};
  for (const std::uint64_t config :
       {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
        PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MAJ}) {
    group.push_back(software_event(config));
  }
  return group;
}

/// More than a small ring has room for.
Group floods() {
  SamplingRequest faults = software_event(PERF_COUNT_SW_PAGE_FAULTS);
  faults.period = 1;
  faults.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER;
  faults.sample_stack_user = 2048;
  faults.disabled = true;
  add_side_band(faults);
  return {faults};
}

Group group_called(const std::string& name) {
  if (name == "all-fields") return all_fields();
  if (name == "switches") return switches();
  if (name == "floods") return floods();
  if (name == "hardware") return hardware();
  if (name == "throttled") return throttled();
  throw std::runtime_error("no events are called " + name);
}

class Recording {
 public:
  Recording(const Group& group, std::size_t ring_bytes) {
    for (const SamplingRequest& request : group) {
      events_.push_back({value_of(perf::to_attr(request)), {}});
    }
    const int cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < cpus; ++cpu) open(group, cpu, ring_bytes);
  }

  void drain() {
    for (perf::RingBuffer& ring : rings_) {
      ring.drain([this](std::span<const std::byte> record) {
        records_.insert(records_.end(), record.begin(), record.end());
      });
    }
  }

  void write(const std::string& path) const { write_perf_data(path, events_, records_); }

 private:
  void open(const Group& group, int cpu, std::size_t ring_bytes) {
    int leader = -1;
    for (std::size_t n = 0; n < group.size(); ++n) {
      perf::OpenCounter event = value_of(
          perf::open_sampling(kernel_, group[n], {.pid = -1, .cpu = cpu, .group_fd = leader}));
      const int fd = event.fd.get();
      events_[n].ids.push_back(event.id);
      descriptors_.push_back(std::move(event.fd));
      if (n == 0) {
        leader = fd;
        rings_.push_back(value_of(perf::RingBuffer::open(kernel_, fd, {ring_bytes, ring_bytes})));
      } else {
        expect(rings_.back().attach(kernel_, fd));
      }
    }
    expect(kernel_.enable_group(leader));
  }

  perf::LinuxPerfKernel kernel_;
  std::vector<PerfDataEvent> events_;
  std::vector<UniqueFd> descriptors_;
  std::vector<perf::RingBuffer> rings_;
  std::vector<std::byte> records_;
};

/// Drains while the command runs.
void record_while(std::vector<std::string> command, Recording& recording) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    recording.drain();
    std::this_thread::sleep_for(5ms);
  }
  recording.drain();
  if (status != 0) throw std::runtime_error("the command failed");
}

void record(const std::vector<std::string>& arguments) {
  const std::string& bytes = arguments[2];
  std::size_t ring_bytes = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), ring_bytes);
  Recording recording(group_called(arguments[1]), ring_bytes);
  record_while({arguments.begin() + 4, arguments.end()}, recording);
  recording.write(arguments[3]);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "print") {
    print_records(arguments[1]);
  } else if (arguments.size() > 4 && arguments[0] == "record") {
    record(arguments);
  } else {
    std::cerr << "usage: records record EVENTS BYTES FILE.data COMMAND...\n"
                 "       records print FILE.data\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace pex::test

int main(int argc, char** argv) {
  try {
    return pex::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "records: " << error.what() << '\n';
    return 1;
  }
}
