// Side-band records of the real kernel: each is caused by doing what it reports.

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <variant>

#include "cgroup/hierarchy.h"
#include "support/real_events.h"
#include "support/test_headers.h"

namespace pex::perf::side_band_test {
namespace {

using test::RecordedEvent;
using test::TemporaryCgroup;
using test::WaitingChild;

/// Only side-band records, with the ids and times of `sample_type`.
SamplingRequest side_band(std::uint64_t sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME) {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_DUMMY);
  request.sample_type = sample_type;
  return request;
}

std::uint32_t id_of(pid_t pid) { return static_cast<std::uint32_t>(pid); }

/// Whether the record is about `task`, or about a thread that came from it.
auto is_of(pid_t pid) {
  return [pid](const auto& record) { return record.task.pid == id_of(pid); };
}

template <typename Records>
auto* first_of(Records& records, pid_t pid) {
  const auto found = std::find_if(records.begin(), records.end(), is_of(pid));
  return found == records.end() ? nullptr : &*found;
}

/// Returns its pid.
pid_t run_child(const std::function<void()>& work) {
  WaitingChild child{work};
  const pid_t pid = child.pid();
  child.run();
  return pid;
}

class SideBandTest : public test::RealEventsTest {};

TEST_F(SideBandTest, ReportsForksAndExits) {
  SamplingRequest request = side_band(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
  request.task = true;
  request.inherit = true;
  request.clockid = CLOCK_MONOTONIC;
  RecordedEvent event{kernel_, request, this_thread()};
  const std::uint64_t before = test::time_of(CLOCK_MONOTONIC);

  const pid_t pid = run_child([] {});

  auto forks = event.all<Fork>();
  auto exits = event.all<Exit>();
  const Fork* const fork = first_of(forks, pid);
  const Exit* const exit = first_of(exits, pid);
  ASSERT_TRUE(fork);
  ASSERT_TRUE(exit);
  EXPECT_EQ(fork->task.tid, id_of(pid));
  EXPECT_EQ(fork->parent.pid, id_of(::getpid()));
  EXPECT_EQ(exit->parent.pid, id_of(::getpid()));
  EXPECT_GE(static_cast<std::uint64_t>(fork->time.count()), before);
  EXPECT_LT(fork->time, exit->time);
  ASSERT_TRUE(fork->sample_id.time);
  EXPECT_GE(static_cast<std::uint64_t>(fork->sample_id.time->count()), before);
  EXPECT_EQ(fork->sample_id.task->tid, id_of(::gettid()));
  EXPECT_EQ(fork->sample_id.cpu, static_cast<std::uint32_t>(cpu_));
}

TEST_F(SideBandTest, HasNoIdsWithoutSampleIdAll) {
  SamplingRequest request = side_band();
  request.task = true;
  request.sample_id_all = false;
  RecordedEvent event{kernel_, request, this_thread()};

  const pid_t pid = run_child([] {});

  auto forks = event.all<Fork>();
  const Fork* const fork = first_of(forks, pid);
  ASSERT_TRUE(fork);
  EXPECT_FALSE(fork->sample_id.time);
}

TEST_F(SideBandTest, ReportsAnExec) {
  SamplingRequest request = side_band();
  request.comm = request.comm_exec = true;
  request.disabled = request.enable_on_exec = true;
  WaitingChild child{[] {
    ::prctl(PR_SET_NAME, "before", 0, 0, 0);
    ::execl("/bin/true", "true", nullptr);
  }};
  RecordedEvent event{kernel_, request, process(child.pid())};

  child.run();

  const auto comms = event.all<Comm>();
  ASSERT_EQ(comms.size(), 1U);  // nothing before the execve(2)
  EXPECT_EQ(comms[0].name, "true");
  EXPECT_TRUE(comms[0].by_exec());
}

TEST_F(SideBandTest, ReportsANameThatIsNoExec) {
  SamplingRequest request = side_band();
  request.comm = request.comm_exec = true;
  WaitingChild child{[] { ::prctl(PR_SET_NAME, "renamed", 0, 0, 0); }};
  RecordedEvent event{kernel_, request, process(child.pid())};

  child.run();

  const auto comms = event.all<Comm>();
  ASSERT_EQ(comms.size(), 1U);
  EXPECT_EQ(comms[0].name, "renamed");
  EXPECT_FALSE(comms[0].by_exec());
}

/// A mapping of this program.
class OwnProgram {
 public:
  explicit OwnProgram(int protection) {
    const UniqueFd file{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(::fstat(file.get(), &status_), 0);
    start_ = ::mmap(nullptr, kBytes, protection, MAP_PRIVATE, file.get(), 0);
    EXPECT_NE(start_, MAP_FAILED);
  }
  ~OwnProgram() { ::munmap(start_, kBytes); }
  OwnProgram(const OwnProgram&) = delete;
  OwnProgram& operator=(const OwnProgram&) = delete;

  static constexpr std::size_t kBytes = 8192;
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(start_); }
  std::uint64_t inode() const { return status_.st_ino; }

 private:
  struct stat status_ {};
  void* start_ = nullptr;
};

template <typename Kind>
const Kind* at_address(const std::vector<Kind>& mappings, std::uint64_t address) {
  const auto found = std::find_if(mappings.begin(), mappings.end(),
                                  [&](const Kind& map) { return map.address == address; });
  return found == mappings.end() ? nullptr : &*found;
}

TEST_F(SideBandTest, ReportsMappings) {
  SamplingRequest request = side_band();
  request.mmap = request.mmap2 = request.mmap_data = true;
  RecordedEvent event{kernel_, request, this_thread()};

  const OwnProgram code{PROT_READ | PROT_EXEC};
  const OwnProgram data{PROT_READ};

  const auto mappings = event.all<Mmap2>();
  const Mmap2* const of_code = at_address(mappings, code.address());
  const Mmap2* const of_data = at_address(mappings, data.address());
  ASSERT_TRUE(of_code);
  ASSERT_TRUE(of_data);
  EXPECT_FALSE(of_code->is_data());
  EXPECT_TRUE(of_data->is_data());
  EXPECT_EQ(of_code->length, OwnProgram::kBytes);
  EXPECT_EQ(of_code->page_offset, 0U);
  EXPECT_EQ(of_code->protection, std::uint32_t{PROT_READ | PROT_EXEC});
  EXPECT_EQ(of_code->task.pid, id_of(::getpid()));
  EXPECT_EQ(of_code->path, std::filesystem::read_symlink("/proc/self/exe").string());
  ASSERT_TRUE(std::holds_alternative<FileIdentity>(of_code->file));
  EXPECT_EQ(std::get<FileIdentity>(of_code->file).inode, code.inode());
}

TEST_F(SideBandTest, ReportsOnlyExecutableMappingsUnlessDataAreAskedFor) {
  SamplingRequest request = side_band();
  request.mmap = true;
  RecordedEvent event{kernel_, request, this_thread()};

  const OwnProgram code{PROT_READ | PROT_EXEC};
  const OwnProgram data{PROT_READ};

  const auto mappings = event.all<Mmap>();
  ASSERT_TRUE(at_address(mappings, code.address()));
  EXPECT_FALSE(at_address(mappings, data.address()));
  EXPECT_EQ(at_address(mappings, code.address())->length, OwnProgram::kBytes);
}

TEST_F(SideBandTest, ReportsTheBuildIdOfAMappedProgram) {
  SamplingRequest request = side_band();
  request.mmap = request.mmap2 = request.build_id = true;
  RecordedEvent event{kernel_, request, this_thread()};

  const OwnProgram code{PROT_READ | PROT_EXEC};

  const auto mappings = event.all<Mmap2>();
  const Mmap2* const of_code = at_address(mappings, code.address());
  ASSERT_TRUE(of_code);
  if (!std::holds_alternative<BuildId>(of_code->file)) {
    GTEST_SKIP() << "the linker has given this program no build id: build ids are NOT tested";
  }
  EXPECT_EQ(std::get<BuildId>(of_code->file).bytes.size(), 20U);
}

void sleep_a_moment() { ::usleep(1000); }

TEST_F(SideBandTest, ReportsContextSwitches) {
  SamplingRequest request = side_band();
  request.context_switch = true;
  RecordedEvent event{kernel_, request, this_thread()};

  sleep_a_moment();

  const auto switches = event.all<Switch>();
  ASSERT_GE(switches.size(), 2U);
  EXPECT_TRUE(switches[0].is_out());
  EXPECT_FALSE(switches[1].is_out());
  EXPECT_EQ(switches[0].sample_id.task->tid, id_of(::gettid()));
}

TEST_F(SideBandTest, ReportsContextSwitchesOfACpuWithTheOtherThread) {
  SamplingRequest request = side_band();
  request.context_switch = true;
  RecordedEvent event{kernel_, request, this_cpu()};

  sleep_a_moment();

  const auto switches = event.all<SwitchCpuWide>();
  const auto is_in = [](const SwitchCpuWide& record) {
    return !record.is_out() && record.sample_id.task->tid == id_of(::gettid());
  };
  const auto is_out = [](const SwitchCpuWide& record) {
    return record.is_out() && record.sample_id.task->tid == id_of(::gettid());
  };
  EXPECT_TRUE(std::any_of(switches.begin(), switches.end(), is_out));
  EXPECT_TRUE(std::any_of(switches.begin(), switches.end(), is_in));
}

std::uint64_t inode_of(const char* path) {
  struct stat status {};
  EXPECT_EQ(::stat(path, &status), 0) << path;
  return status.st_ino;
}

TEST_F(SideBandTest, ReportsANewNamespace) {
  SamplingRequest request = side_band();
  request.namespaces = true;
  WaitingChild child{[] {
    if (::unshare(CLONE_NEWUTS) != 0) ::_exit(1);
  }};
  RecordedEvent event{kernel_, request, process(child.pid())};
  if (!event) GTEST_SKIP() << "no namespace can be recorded: NOT tested";

  child.run();

  const auto records = event.all<Namespaces>();
  ASSERT_FALSE(records.empty());
  const auto& links = records.back().links;
  ASSERT_GE(links.size(), 7U);
  EXPECT_EQ(links[Namespaces::kNet].inode, inode_of("/proc/self/ns/net"));
  EXPECT_NE(links[Namespaces::kUts].inode, inode_of("/proc/self/ns/uts"));
}

TEST_F(SideBandTest, ReportsANewNamespaceOnACpu) {
  SamplingRequest request = side_band();
  request.namespaces = true;  // and nothing else, with which the kernel alone would write no record
  WaitingChild child{[] {
    if (::unshare(CLONE_NEWUTS) != 0) ::_exit(1);
  }};
  const pid_t pid = child.pid();
  RecordedEvent event{kernel_, request, this_cpu()};

  child.run();

  const auto records = event.all<Namespaces>();
  EXPECT_TRUE(std::any_of(records.begin(), records.end(), is_of(pid))) << records.size();
}

TEST_F(SideBandTest, ReportsANewCgroup) {
  const auto hierarchy = cgroup::find_hierarchy({});
  if (!hierarchy || !*hierarchy) GTEST_SKIP() << "no cgroup tree here has perf_event: NOT tested";
  SamplingRequest request = side_band();
  request.cgroup = true;  // and nothing else, with which the kernel alone would write no record
  RecordedEvent event{kernel_, request, this_cpu()};

  const TemporaryCgroup made{(*hierarchy)->mount};
  if (!made) GTEST_SKIP() << "cgroups cannot be made here: PERF_RECORD_CGROUP is NOT tested";

  const auto cgroups = event.all<Cgroup>();
  const auto is_made = [&](const Cgroup& record) {
    return record.id == made.id() && record.path.ends_with(made.name());
  };
  EXPECT_TRUE(std::any_of(cgroups.begin(), cgroups.end(), is_made)) << cgroups.size();
}

/// "r0 = 0; exit": a filter of sockets that keeps nothing.
UniqueFd load_bpf_program() {
  const std::array<bpf_insn, 2> program = {
      bpf_insn{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
      bpf_insn{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
  };
  bpf_attr attr{};
  attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attr.insns = reinterpret_cast<std::uintptr_t>(program.data());
  attr.insn_cnt = program.size();
  attr.license = reinterpret_cast<std::uintptr_t>("GPL");
  return UniqueFd{static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr))};
}

TEST_F(SideBandTest, ReportsABpfProgram) {
  SamplingRequest request = side_band();
  request.bpf_event = request.ksymbol = true;
  RecordedEvent event{kernel_, request, this_cpu()};

  UniqueFd program = load_bpf_program();
  if (!program) GTEST_SKIP() << "no BPF program can be loaded here: NOT tested";
  bpf_attr attr{};
  bpf_prog_info info{};
  attr.info.bpf_fd = static_cast<std::uint32_t>(program.get());
  attr.info.info_len = sizeof info;
  attr.info.info = reinterpret_cast<std::uintptr_t>(&info);
  ASSERT_EQ(::syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr), 0);

  const auto programs = event.all<BpfEvent>();
  const auto is_load = [&](const BpfEvent& record) {
    return record.type == BpfEvent::Type::kLoad && record.program_id == info.id &&
           std::equal(record.tag.begin(), record.tag.end(),
                      std::as_bytes(std::span{info.tag}).begin());
  };
  EXPECT_TRUE(std::any_of(programs.begin(), programs.end(), is_load));
  if (info.jited_prog_len == 0) GTEST_SKIP() << "BPF is not compiled: ksymbol is NOT tested";
  const auto symbols = event.all<Ksymbol>();
  const auto is_program = [](const Ksymbol& record) {
    return record.type == Ksymbol::Type::kBpf && !record.is_removed() &&
           record.name.starts_with("bpf_prog_") && record.address != 0;
  };
  EXPECT_TRUE(std::any_of(symbols.begin(), symbols.end(), is_program));
}

/// As long as it is open, the kernel measures BPF programs. Where it runs them, its code is a jump
/// or nothing, depending on that (a static key), so it is changed.
UniqueFd measure_bpf_programs() {
  bpf_attr attr{};
  attr.enable_stats.type = BPF_STATS_RUN_TIME;
  return UniqueFd{static_cast<int>(::syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof attr))};
}

TEST_F(SideBandTest, ReportsChangesOfTheKernelsCode) {
  SamplingRequest request = side_band();
  request.text_poke = true;
  RecordedEvent event{kernel_, request, this_cpu()};

  if (!measure_bpf_programs()) GTEST_SKIP() << "BPF is not allowed: text_poke is NOT tested";

  const auto pokes = event.all<TextPoke>();
  if (pokes.empty()) GTEST_SKIP() << "this kernel reports no change of its code: NOT tested";
  for (const TextPoke& poke : pokes) {
    EXPECT_NE(poke.address, 0U);
    EXPECT_EQ(poke.old_bytes.size(), poke.new_bytes.size());
    EXPECT_FALSE(std::equal(poke.old_bytes.begin(), poke.old_bytes.end(), poke.new_bytes.begin()));
  }
}

/// Since Linux 5.13 the kernel does not know the task any more when it takes the event from it, and
/// writes nothing.
TEST_F(SideBandTest, ReportsWhatAnInheritedEventCounted) {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_PAGE_FAULTS);
  request.sample_type = PERF_SAMPLE_TID;
  request.inherit = request.inherit_stat = true;
  RecordedEvent event{kernel_, request, this_thread()};

  constexpr std::size_t kPages = 200;
  const pid_t pid = run_child([] { test::NewMemory{kPages}.touch(); });

  EXPECT_GE(event.count(), kPages);
  auto reads = event.all<Read>();
  if (reads.empty()) GTEST_SKIP() << "this kernel writes no PERF_RECORD_READ: NOT tested";
  const Read* const read = first_of(reads, pid);
  ASSERT_TRUE(read);
  EXPECT_GE(read->values.counters[0].value, kPages);
}

}  // namespace
}  // namespace pex::perf::side_band_test
