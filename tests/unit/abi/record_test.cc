#include "abi/record/record.h"

#include <linux/perf_event.h>

#include <iostream>
#include <string_view>
#include <type_traits>

#include "support/record_encoder.h"
#include "support/record_layout.h"
#include "support/test_headers.h"

namespace pex::perf::record_test {
namespace {

using std::chrono::nanoseconds;
using test::Bytes;
using test::layout_of;
using test::RecordEncoder;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

static_assert(std::is_trivially_copyable_v<Record>, "a record is copied like its bytes");

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T>
T with_misc(int bits) {
  T record;
  record.misc.bits = static_cast<std::uint16_t>(bits);
  return record;
}

test::EncodedSample with_id(std::uint64_t id) {
  test::EncodedSample sample;
  sample.id = id;
  return sample;
}

Aux with_flags(std::uint64_t flags) {
  Aux aux;
  aux.flags = flags;
  return aux;
}

class RecordTest : public testing::Test {
 protected:
  RecordTest() {
    format_.sample_type =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    format_.sample_id_all = true;
    records_ = test::one_record_of_each_type(format_);
  }

  /// The n-th record of the type among one_record_of_each_type().
  template <typename T>
  T decode(std::uint32_t type, std::size_t n = 0) {
    for (const auto& [each, record] : records_) {
      if (each == type && n-- == 0) return decode<T>(record);
    }
    ADD_FAILURE() << "no record of type " << type;
    return {};
  }

  /// With all that `record` views alive.
  template <typename T>
  T decode(const Bytes& record) {
    const auto decoded = decode_record(layout_of(format_), record);
    if (!decoded) {
      ADD_FAILURE() << describe(decoded.error());
      return {};
    }
    EXPECT_TRUE(std::holds_alternative<T>(*decoded));
    return std::get<T>(*decoded);
  }

  DecodeError error_of(const Bytes& record) {
    const auto decoded = decode_record(layout_of(format_), record);
    EXPECT_FALSE(decoded);
    return decoded ? DecodeError{} : decoded.error();
  }

  SampleFormat format_;
  std::vector<std::pair<std::uint32_t, Bytes>> records_;
};

TEST_F(RecordTest, DecodesMappings) {
  const auto mmap = decode<Mmap>(PERF_RECORD_MMAP);

  EXPECT_EQ(mmap.task, (TaskId{1, 2}));
  EXPECT_EQ(mmap.address, 0x400000u);
  EXPECT_EQ(mmap.length, 0x1000u);
  EXPECT_EQ(mmap.page_offset, 0x2000u);
  EXPECT_EQ(mmap.path, "/bin/true");
  EXPECT_EQ(mmap.misc.cpu_mode(), CpuMode::kUser);
  EXPECT_FALSE(mmap.is_data());
  EXPECT_TRUE(with_misc<Mmap>(PERF_RECORD_MISC_MMAP_DATA).is_data());
}

TEST_F(RecordTest, DecodesMappingsWithTheirFile) {
  const auto by_inode = decode<Mmap2>(PERF_RECORD_MMAP2, 0);
  const auto by_build_id = decode<Mmap2>(PERF_RECORD_MMAP2, 1);

  EXPECT_EQ(by_inode.task, (TaskId{1, 2}));
  EXPECT_EQ(by_inode.page_offset, 0x2000u);
  EXPECT_EQ(std::get<FileIdentity>(by_inode.file), (FileIdentity{8, 1, 4711, 2}));
  EXPECT_EQ(by_inode.protection, 5u);
  EXPECT_EQ(by_inode.flags, 2u);
  EXPECT_EQ(by_inode.path, "/bin/true");
  EXPECT_EQ(text_of(std::get<BuildId>(by_build_id.file).bytes), "twenty bytes, an id.");
  EXPECT_EQ(by_build_id.path, "/bin/true");
  EXPECT_FALSE(by_build_id.is_data());
}

TEST_F(RecordTest, DecodesShortBuildIdsAndRefusesLongOnes) {
  const auto mapping = [&](std::uint8_t size) {
    RecordEncoder record{PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID};
    record.u64(0).u64(0).u64(0).u64(0).u8(size).u8(0).u16(0).bytes("twenty bytes, an id.").u64(0);
    return record.text("/bin/true").sample_id(format_, {}).record();
  };
  const Bytes short_id = mapping(6);
  const Bytes no_id = mapping(0);

  EXPECT_EQ(text_of(std::get<BuildId>(decode<Mmap2>(short_id).file).bytes), "twenty");
  EXPECT_TRUE(std::get<BuildId>(decode<Mmap2>(no_id).file).bytes.empty());
  EXPECT_EQ(error_of(mapping(21)).reason, DecodeError::Reason::kUnknownValue);
}

TEST_F(RecordTest, DecodesNamesOfThreads) {
  const auto comm = decode<Comm>(PERF_RECORD_COMM);

  EXPECT_EQ(comm.task, (TaskId{1, 2}));
  EXPECT_EQ(comm.name, "true");
  EXPECT_FALSE(comm.by_exec());
  EXPECT_TRUE(with_misc<Comm>(PERF_RECORD_MISC_COMM_EXEC).by_exec());
}

TEST_F(RecordTest, DecodesForkAndExit) {
  const auto expect_of_child = [](const auto& record) {
    EXPECT_EQ(record.task, (TaskId{5, 6}));
    EXPECT_EQ(record.parent, (TaskId{1, 2}));
    EXPECT_EQ(record.time, nanoseconds{999});
  };

  expect_of_child(decode<Fork>(PERF_RECORD_FORK));
  expect_of_child(decode<Exit>(PERF_RECORD_EXIT));
  EXPECT_TRUE(with_misc<Fork>(PERF_RECORD_MISC_FORK_EXEC).before_exec());
}

TEST_F(RecordTest, DecodesRecordsOfOneOrTwoNumbers) {
  EXPECT_EQ(decode<ItraceStart>(PERF_RECORD_ITRACE_START).task, (TaskId{1, 2}));
  EXPECT_EQ(decode<AuxOutputHwId>(PERF_RECORD_AUX_OUTPUT_HW_ID).hw_id, 6u);
  EXPECT_EQ(decode<Lost>(PERF_RECORD_LOST).event_id, 8u);
  EXPECT_EQ(decode<Lost>(PERF_RECORD_LOST).lost, 12u);
  EXPECT_EQ(decode<LostSamples>(PERF_RECORD_LOST_SAMPLES).lost, 12u);
  EXPECT_EQ(decode<Cgroup>(PERF_RECORD_CGROUP).id, 77u);
  EXPECT_EQ(decode<Cgroup>(PERF_RECORD_CGROUP).path, "/system.slice");
}

TEST_F(RecordTest, DecodesThrottling) {
  const auto throttle = decode<Throttle>(PERF_RECORD_THROTTLE);

  EXPECT_EQ(throttle.time, nanoseconds{999});
  EXPECT_EQ(throttle.event_id, 8u);
  EXPECT_EQ(throttle.stream_id, 9u);
  EXPECT_EQ(decode<Unthrottle>(PERF_RECORD_UNTHROTTLE).stream_id, 9u);
}

TEST_F(RecordTest, DecodesReadings) {
  format_.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
  records_ = test::one_record_of_each_type(format_);

  const auto read = decode<Read>(PERF_RECORD_READ);

  EXPECT_EQ(read.task, (TaskId{1, 2}));
  EXPECT_THAT(read.values.counters, ElementsAre(CounterValue{11, 1, 0}));
}

TEST_F(RecordTest, KnowsSamplesOfAnExactAddress) {
  EXPECT_FALSE(decode<Sample>(PERF_RECORD_SAMPLE).exact_ip());
  EXPECT_TRUE(with_misc<Sample>(PERF_RECORD_MISC_EXACT_IP).exact_ip());
}

TEST_F(RecordTest, DecodesNewDataOfTheAuxArea) {
  const auto aux = decode<Aux>(PERF_RECORD_AUX);

  EXPECT_EQ(aux.offset, 4096u);
  EXPECT_EQ(aux.size, 512u);
  EXPECT_TRUE(aux.partial());
  EXPECT_FALSE(aux.truncated() || aux.overwrite() || aux.collision());
  EXPECT_TRUE(with_flags(PERF_AUX_FLAG_TRUNCATED).truncated());
  EXPECT_TRUE(with_flags(PERF_AUX_FLAG_OVERWRITE).overwrite());
  EXPECT_TRUE(with_flags(PERF_AUX_FLAG_COLLISION).collision());
  EXPECT_EQ(with_flags(PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW).format(), 1u);
}

TEST_F(RecordTest, DecodesContextSwitches) {
  const auto in = decode<Switch>(PERF_RECORD_SWITCH);
  const auto cpu_wide = decode<SwitchCpuWide>(PERF_RECORD_SWITCH_CPU_WIDE);
  constexpr int kPreempted = PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  const auto out = with_misc<Switch>(kPreempted);
  const auto cpu_wide_out = with_misc<SwitchCpuWide>(kPreempted);

  EXPECT_EQ(cpu_wide.other, (TaskId{3, 4}));
  EXPECT_FALSE(in.is_out() || in.is_preempted() || cpu_wide.is_out() || cpu_wide.is_preempted());
  EXPECT_TRUE(out.is_out() && out.is_preempted());
  EXPECT_TRUE(cpu_wide_out.is_out() && cpu_wide_out.is_preempted());
}

TEST_F(RecordTest, DecodesNamespaces) {
  const auto namespaces = decode<Namespaces>(PERF_RECORD_NAMESPACES);

  EXPECT_EQ(namespaces.task, (TaskId{1, 2}));
  EXPECT_THAT(namespaces.links, ElementsAre(NamespaceLink{4, 40}, NamespaceLink{5, 50}));
  EXPECT_EQ(namespaces.links[Namespaces::kUts].inode, 50u);
}

TEST_F(RecordTest, RefusesNamespacesBeyondTheRecord) {
  for (const std::uint64_t nr : {std::uint64_t{1}, std::uint64_t{1} << 60, UINT64_MAX}) {
    const auto record = RecordEncoder(PERF_RECORD_NAMESPACES).u64(0).u64(nr);

    EXPECT_EQ(error_of(RecordEncoder(record).sample_id(format_, {}).record()).field, "namespaces");
  }
}

TEST_F(RecordTest, DecodesSymbolsOfTheKernel) {
  const auto symbol = decode<Ksymbol>(PERF_RECORD_KSYMBOL);

  EXPECT_EQ(symbol.address, 0xffffffffc0000000u);
  EXPECT_EQ(symbol.length, 64u);
  EXPECT_EQ(symbol.type, Ksymbol::Type::kBpf);
  EXPECT_TRUE(symbol.is_removed());
  EXPECT_EQ(symbol.name, "bpf_prog_1");
}

TEST_F(RecordTest, DecodesBpfEvents) {
  const auto event = decode<BpfEvent>(PERF_RECORD_BPF_EVENT);

  EXPECT_EQ(event.type, BpfEvent::Type::kLoad);
  EXPECT_EQ(event.program_id, 17u);
  EXPECT_EQ(text_of(event.tag), "eightbyt");
}

TEST_F(RecordTest, DecodesTextPokes) {
  const auto poke = decode<TextPoke>(PERF_RECORD_TEXT_POKE);

  EXPECT_EQ(poke.address, 0xffffffff81000000u);
  EXPECT_EQ(text_of(poke.old_bytes), "ol");
  EXPECT_EQ(text_of(poke.new_bytes), "dnew.");
}

TEST_F(RecordTest, DecodesDeferredCallchains) {
  const auto deferred = decode<CallchainDeferred>(kRecordCallchainDeferred);

  EXPECT_EQ(deferred.cookie, 0xc00c1eu);
  EXPECT_THAT(deferred.callchain, ElementsAre(PERF_CONTEXT_USER, 0x401000));
}

TEST_F(RecordTest, HasTheSampleIdOfEachRecordButSamples) {
  for (const auto& [type, record] : records_) {
    const auto decoded = decode_record(layout_of(format_), record);

    ASSERT_TRUE(decoded) << describe(decoded.error());
    const SampleId* id = sample_id_of(*decoded);
    ASSERT_EQ(id == nullptr, type == PERF_RECORD_SAMPLE);
    if (id == nullptr) continue;
    EXPECT_EQ(id->task, (TaskId{100, 101}));
    EXPECT_EQ(id->time, nanoseconds{123456789});
    EXPECT_EQ(id->cpu, 3u);
    EXPECT_EQ(id->identifier, 0x1du);
    EXPECT_FALSE(id->id || id->stream_id);
  }
}

TEST_F(RecordTest, KnowsItsType) {
  for (const auto& [type, record] : records_) {
    EXPECT_EQ(type_of(*decode_record(layout_of(format_), record)), type);
  }
  const Bytes younger = RecordEncoder(99).record();
  EXPECT_EQ(type_of(*decode_record(layout_of(format_), younger)), 99u);
}

TEST_F(RecordTest, IgnoresBytesOfAYoungerKernelAfterTheFields) {
  RecordEncoder longer{PERF_RECORD_LOST};
  const Bytes record = longer.u64(8).u64(12).u64(99).sample_id(format_, with_id(3)).record();

  const auto lost = decode<Lost>(record);

  EXPECT_EQ(lost.lost, 12u);
  EXPECT_EQ(lost.sample_id.identifier, 3u);
}

TEST_F(RecordTest, PassesOnRecordsOfAnUnknownType) {
  for (const std::uint32_t type : {0u, 23u, 64u, UINT32_MAX}) {
    const Bytes record = RecordEncoder(type, 5).bytes("whatever").record();

    const auto unknown = decode<Unknown>(record);

    EXPECT_EQ(unknown.type, type);
    EXPECT_EQ(unknown.misc.bits, 5);
    EXPECT_EQ(text_of(unknown.bytes), "whatever");
  }
}

TEST_F(RecordTest, RefusesARecordWithoutAHeader) {
  for (std::size_t size = 0; size < 8; ++size) {
    const DecodeError error = error_of(Bytes(size));

    EXPECT_EQ(error, (DecodeError{DecodeError::Reason::kTooShort, 0, "header", 0, 8, size}));
  }
}

TEST_F(RecordTest, RefusesASizeThatIsNotTheRecords) {
  for (const std::size_t size : {std::size_t{24}, std::size_t{40}}) {
    Bytes record = RecordEncoder(PERF_RECORD_LOST).u64(1).u64(2).u64(3).record();
    record.resize(size);

    EXPECT_EQ(error_of(record).reason, DecodeError::Reason::kWrongSize);
  }
}

TEST_F(RecordTest, RefusesARecordWithoutRoomForItsSampleId) {
  const DecodeError error = error_of(RecordEncoder(PERF_RECORD_SWITCH).u64(0).record());

  EXPECT_EQ(error.field, "sample_id");
  EXPECT_EQ(error.needed, 32u);
  EXPECT_EQ(error.left, 8u);
}

TEST_F(RecordTest, RefusesTextsThatTheRecordCutsOff) {
  const Bytes cut =
      RecordEncoder(PERF_RECORD_CGROUP).u64(77).bytes("/system.").sample_id(format_, {}).record();

  const DecodeError error = error_of(cut);

  EXPECT_EQ(error.reason, DecodeError::Reason::kUnterminated);
  EXPECT_EQ(error.field, "path");
}

TEST_F(RecordTest, NamesEachTypeOnce) {
  std::set<std::string_view> names;
  for (std::uint32_t type = 1; type <= kRecordCallchainDeferred; ++type) {
    names.insert(record_name(type));
  }
  EXPECT_THAT(names, AllOf(SizeIs(kRecordCallchainDeferred), Each(StartsWith("PERF_RECORD_"))));
  EXPECT_EQ(record_name(0), "");
  EXPECT_EQ(record_name(kRecordCallchainDeferred + 1), "");
}

TEST(RecordMiscTest, HasTheModeOfTheCpu) {
  const auto mode = [](int bits) {
    return RecordMisc{static_cast<std::uint16_t>(bits | PERF_RECORD_MISC_EXACT_IP)}.cpu_mode();
  };

  EXPECT_EQ(mode(PERF_RECORD_MISC_CPUMODE_UNKNOWN), CpuMode::kUnknown);
  EXPECT_EQ(mode(PERF_RECORD_MISC_KERNEL), CpuMode::kKernel);
  EXPECT_EQ(mode(PERF_RECORD_MISC_USER), CpuMode::kUser);
  EXPECT_EQ(mode(PERF_RECORD_MISC_HYPERVISOR), CpuMode::kHypervisor);
  EXPECT_EQ(mode(PERF_RECORD_MISC_GUEST_KERNEL), CpuMode::kGuestKernel);
  EXPECT_EQ(mode(PERF_RECORD_MISC_GUEST_USER), CpuMode::kGuestUser);
  EXPECT_EQ(mode(7), static_cast<CpuMode>(7));
}

TEST(RecordMiscTest, HasItsBits) {
  EXPECT_TRUE(RecordMisc{PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT}.maps_incomplete());
  EXPECT_FALSE(RecordMisc{PERF_RECORD_MISC_MMAP_DATA}.maps_incomplete());
  EXPECT_TRUE(RecordMisc{PERF_RECORD_MISC_EXT_RESERVED}.extended());
  EXPECT_EQ(misc_of(Record{with_misc<Comm>(2)}), RecordMisc{2});
  EXPECT_EQ(misc_of(Record{with_misc<Unknown>(9)}), RecordMisc{9});
}

TEST(RecordExample, PrintsTheNameOfAThread) {
  const SampleLayout layout = layout_of({});
  const Bytes encoded = RecordEncoder(PERF_RECORD_COMM).u32(42).u32(42).text("true").record();
  testing::internal::CaptureStdout();

  const auto record = decode_record(layout, encoded);
  if (!record) {
    std::cerr << describe(record.error()) << '\n';
  } else if (const auto* comm = std::get_if<Comm>(&*record)) {
    std::cout << comm->task.pid << " is now " << comm->name << '\n';
  }

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "42 is now true\n");
}

}  // namespace
}  // namespace pex::perf::record_test
