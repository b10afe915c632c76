#include "abi/sampling.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <iostream>
#include <limits>
#include <string_view>

#include "abi/record/branch_stack.h"
#include "abi/record/read_format.h"
#include "abi/record/sample_layout.h"
#include "abi/sampling_table.h"
#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::FailsWith;
using test::HasError;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const host::KernelVersion kToday{6, 19, 0};

/// What every kernel has.
SamplingRequest plain() {
  SamplingRequest request;
  request.event = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
  request.period = 1000;
  request.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  return request;
}

SamplingRequest plain_with(const std::function<void(SamplingRequest&)>& change) {
  SamplingRequest request = plain();
  change(request);
  return request;
}

EventAttr attr_of(const SamplingRequest& request) {
  const Result<EventAttr> attr = to_attr(request);
  EXPECT_TRUE(attr) << describe(attr.error());
  return attr ? *attr : EventAttr{};
}

/// The bit-fields of <linux/perf_event.h>, which name their bits.
perf_event_attr in_the_header(const EventAttr& attr) {
  perf_event_attr header{};
  std::memcpy(&header, &attr, std::min(sizeof header, sizeof attr));
  return header;
}

perf_event_attr header_of(const std::function<void(SamplingRequest&)>& change) {
  return in_the_header(attr_of(plain_with(change)));
}

TEST(SamplingTest, SamplesByPeriod) {
  const perf_event_attr attr = in_the_header(attr_of(plain()));

  EXPECT_EQ(attr.sample_period, 1000U);
  EXPECT_EQ(attr.freq, 0U);
}

TEST(SamplingTest, SamplesByFrequency) {
  const auto attr = header_of([](auto& request) { request.period = 0, request.frequency = 99; });

  EXPECT_EQ(attr.sample_freq, 99U);
  EXPECT_EQ(attr.freq, 1U);
}

TEST(SamplingTest, WakesUpByEventsOrByBytesOrAsTheKernelLikes) {
  const auto by_events = header_of([](auto& request) { request.wakeup_events = 7; });
  const auto by_bytes = header_of([](auto& request) { request.wakeup_watermark = 4096; });
  const auto by_default = in_the_header(attr_of(plain()));

  EXPECT_EQ(by_events.wakeup_events, 7U);
  EXPECT_EQ(by_events.watermark, 0U);
  EXPECT_EQ(by_bytes.wakeup_watermark, 4096U);
  EXPECT_EQ(by_bytes.watermark, 1U);
  EXPECT_EQ(by_default.wakeup_events, 0U);
  EXPECT_EQ(by_default.watermark, 0U);
}

TEST(SamplingTest, AsksForAnExactInstructionPointer) {
  for (const Skid skid : {Skid::kArbitrary, Skid::kConstant, Skid::kZeroRequested, Skid::kZero}) {
    EXPECT_EQ(header_of([&](auto& request) { request.precise_ip = skid; }).precise_ip,
              static_cast<unsigned>(skid));
  }
}

TEST(SamplingTest, HasTheTimesOfTheClockThatIsAskedFor) {
  const auto attr = header_of([](auto& request) { request.clockid = CLOCK_MONOTONIC_RAW; });

  EXPECT_EQ(attr.use_clockid, 1U);
  EXPECT_EQ(attr.clockid, CLOCK_MONOTONIC_RAW);
  EXPECT_EQ(in_the_header(attr_of(plain())).use_clockid, 0U);
}

TEST(SamplingTest, HasTheEvent) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.event = {.type = 4, .config = 1, .config1 = 2, .config2 = 3, .config3 = 5, .breakpoint = 6};
  });

  const EventAttr attr = attr_of(request);

  EXPECT_EQ(attr.type, 4U);
  EXPECT_EQ(attr.config, 1U);
  EXPECT_EQ(attr.config1, 2U);
  EXPECT_EQ(attr.config2, 3U);
  EXPECT_EQ(attr.config3, 5U);
  EXPECT_EQ(attr.bp_type, 6U);
}

TEST(SamplingTest, HasThePathOfAProbe) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.event = {.type = 8, .config1 = 1, .config2 = 0x40, .probe = "/usr/bin/true"};
  });

  const EventAttr attr = attr_of(request);

  EXPECT_EQ(attr.config1, reinterpret_cast<std::uintptr_t>(request.event.probe.c_str()));
  EXPECT_EQ(attr.config2, 0x40U);
}

TEST(SamplingTest, HasTheNumbersThatAreAskedFor) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
                     PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_AUX;
    r.read_format = PERF_FORMAT_ID;
    r.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
    r.sample_regs_user = 3;
    r.sample_stack_user = 8192;
    r.sample_regs_intr = 5;
    r.sample_max_stack = 17;
    r.aux_watermark = 65536;
    r.aux_sample_size = 512;
  });

  const perf_event_attr attr = in_the_header(attr_of(request));

  EXPECT_EQ(attr.sample_type, request.sample_type);
  EXPECT_EQ(attr.read_format, request.read_format);
  EXPECT_EQ(attr.branch_sample_type, request.branch_sample_type);
  EXPECT_EQ(attr.sample_regs_user, request.sample_regs_user);
  EXPECT_EQ(attr.sample_stack_user, request.sample_stack_user);
  EXPECT_EQ(attr.sample_regs_intr, request.sample_regs_intr);
  EXPECT_EQ(attr.sample_max_stack, request.sample_max_stack);
  EXPECT_EQ(attr.aux_watermark, request.aux_watermark);
  EXPECT_EQ(attr.aux_sample_size, request.aux_sample_size);
}

TEST(SamplingTest, PausesAndResumesAnAuxArea) {
  const auto started =
      plain_with([](SamplingRequest& r) { r.aux_start_paused = true, r.aux_resume = true; });
  const auto paused = plain_with([](SamplingRequest& r) { r.aux_pause = true; });

  EXPECT_EQ(attr_of(started).aux_action,
            aux_action(AuxAction::kStartPaused) | aux_action(AuxAction::kResume));
  EXPECT_EQ(attr_of(paused).aux_action, aux_action(AuxAction::kPause));
}

/// A request in which only that flag, and what it needs, is set.
SamplingRequest with_flag(const AttrFlagEntry& entry) {
  SamplingRequest request = plain();
  request.disabled = request.sample_id_all = false;
  if (entry.member != nullptr) request.*entry.member = true;
  const bool is_inherited =
      entry.flag == AttrFlag::kInheritThread || entry.flag == AttrFlag::kInheritStat;
  if (is_inherited) request.inherit = true;
  if (entry.flag == AttrFlag::kSigtrap) request.remove_on_exec = true;
  if (entry.flag == AttrFlag::kBuildId) request.mmap2 = true;
  if (entry.flag == AttrFlag::kMmap2 || entry.flag == AttrFlag::kBuildId) request.mmap = true;
  if (entry.flag == AttrFlag::kCommExec) request.comm = true;
  return request;
}

TEST(SamplingTest, SetsTheFlagsThatAreAskedFor) {
  for (const AttrFlagEntry& entry : attr_flags()) {
    if (entry.member == nullptr) continue;
    const EventAttr without = attr_of(plain());
    const EventAttr with = attr_of(with_flag(entry));

    EXPECT_NE(with.flags & attr_flag(entry.flag), 0U) << entry.abi.name;
    const bool is_default =
        entry.flag == AttrFlag::kDisabled || entry.flag == AttrFlag::kSampleIdAll;
    EXPECT_EQ((without.flags & attr_flag(entry.flag)) != 0, is_default) << entry.abi.name;
  }
}

TEST(SamplingTest, ExcludesWhatTheEventExcludes) {
  for (const auto& [member, flag] :
       {std::pair{&EventAttributes::exclude_user, AttrFlag::kExcludeUser},
        {&EventAttributes::exclude_kernel, AttrFlag::kExcludeKernel},
        {&EventAttributes::exclude_hypervisor, AttrFlag::kExcludeHv},
        {&EventAttributes::exclude_idle, AttrFlag::kExcludeIdle},
        {&EventAttributes::exclude_host, AttrFlag::kExcludeHost},
        {&EventAttributes::exclude_guest, AttrFlag::kExcludeGuest}}) {
    SamplingRequest request = plain();
    request.event.*member = true;

    EXPECT_EQ(attr_of(request).flags, attr_of(plain()).flags | attr_flag(flag));
  }
}

/// The names of the fields in <linux/perf_event.h>, as far as that of Linux 6.1 has them.
TEST(SamplingTest, HasEachFlagWhereTheHeaderOfTheKernelHasIt) {
  const auto header_with = [](AttrFlag flag) {
    EventAttr attr;
    attr.flags = attr_flag(flag);
    return in_the_header(attr);
  };
#define PEX_EXPECT_AT(flag, field) EXPECT_EQ(header_with(AttrFlag::flag).field, 1U)
  PEX_EXPECT_AT(kDisabled, disabled);
  PEX_EXPECT_AT(kInherit, inherit);
  PEX_EXPECT_AT(kPinned, pinned);
  PEX_EXPECT_AT(kExclusive, exclusive);
  PEX_EXPECT_AT(kExcludeUser, exclude_user);
  PEX_EXPECT_AT(kExcludeKernel, exclude_kernel);
  PEX_EXPECT_AT(kExcludeHv, exclude_hv);
  PEX_EXPECT_AT(kExcludeIdle, exclude_idle);
  PEX_EXPECT_AT(kMmap, mmap);
  PEX_EXPECT_AT(kComm, comm);
  PEX_EXPECT_AT(kFreq, freq);
  PEX_EXPECT_AT(kInheritStat, inherit_stat);
  PEX_EXPECT_AT(kEnableOnExec, enable_on_exec);
  PEX_EXPECT_AT(kTask, task);
  PEX_EXPECT_AT(kWatermark, watermark);
  PEX_EXPECT_AT(kMmapData, mmap_data);
  PEX_EXPECT_AT(kSampleIdAll, sample_id_all);
  PEX_EXPECT_AT(kExcludeHost, exclude_host);
  PEX_EXPECT_AT(kExcludeGuest, exclude_guest);
  PEX_EXPECT_AT(kExcludeCallchainKernel, exclude_callchain_kernel);
  PEX_EXPECT_AT(kExcludeCallchainUser, exclude_callchain_user);
  PEX_EXPECT_AT(kMmap2, mmap2);
  PEX_EXPECT_AT(kCommExec, comm_exec);
  PEX_EXPECT_AT(kUseClockid, use_clockid);
  PEX_EXPECT_AT(kContextSwitch, context_switch);
  PEX_EXPECT_AT(kWriteBackward, write_backward);
  PEX_EXPECT_AT(kNamespaces, namespaces);
  PEX_EXPECT_AT(kKsymbol, ksymbol);
  PEX_EXPECT_AT(kBpfEvent, bpf_event);
  PEX_EXPECT_AT(kAuxOutput, aux_output);
  PEX_EXPECT_AT(kCgroup, cgroup);
  PEX_EXPECT_AT(kTextPoke, text_poke);
  PEX_EXPECT_AT(kBuildId, build_id);
  PEX_EXPECT_AT(kInheritThread, inherit_thread);
  PEX_EXPECT_AT(kRemoveOnExec, remove_on_exec);
  PEX_EXPECT_AT(kSigtrap, sigtrap);
#undef PEX_EXPECT_AT
}

TEST(SamplingTest, SetsAnotherSideBandFlagForCgroupsAndNamespacesThatAreAlone) {
  const std::uint64_t other = attr_flag(AttrFlag::kCommExec);
  for (const auto kind : {&SamplingRequest::cgroup, &SamplingRequest::namespaces}) {
    const auto alone = plain_with([&](SamplingRequest& r) { r.*kind = true; });
    const auto with_another = plain_with([&](SamplingRequest& r) { r.*kind = r.task = true; });

    EXPECT_EQ(attr_of(alone).flags & other, other);
    EXPECT_EQ(attr_of(with_another).flags & other, 0U);
  }
}

TEST(SamplingTest, SendsNoMoreThanIsUsed) {
  const auto size_of = [](const std::function<void(SamplingRequest&)>& change) {
    return attr_of(plain_with(change)).size;
  };

  EXPECT_EQ(size_of([](SamplingRequest&) {}), 64U);
  EXPECT_EQ(size_of([](SamplingRequest& r) { r.event.config2 = 1; }), 72U);
  EXPECT_EQ(size_of([](SamplingRequest& r) { r.clockid = CLOCK_MONOTONIC; }), 96U);
  EXPECT_EQ(size_of([](SamplingRequest& r) { r.aux_watermark = 1; }), 112U);
  EXPECT_EQ(size_of([](SamplingRequest& r) { r.aux_pause = true; }), 120U);
  EXPECT_EQ(size_of([](SamplingRequest& r) {
              r.remove_on_exec = r.sigtrap = true;
              r.sig_data = 1;
            }),
            128U);
  EXPECT_EQ(size_of([](SamplingRequest& r) { r.event.config3 = 1; }), 136U);
}

TEST(SamplingTest, RefusesSampleFieldsThatItCannotDecode) {
  const auto unknown_field =
      plain_with([](SamplingRequest& r) { r.sample_type = std::uint64_t{1} << 40; });
  const auto unknown_word = plain_with([](SamplingRequest& r) { r.read_format = 1u << 20; });
  const auto unknown_branch = plain_with([](SamplingRequest& r) {
    r.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    r.branch_sample_type = std::uint64_t{1} << 40;
  });

  for (const auto& request : {unknown_field, unknown_word, unknown_branch}) {
    EXPECT_THAT(to_attr(request), FailsWith(EOPNOTSUPP));
  }
}

struct Refusal {
  const char* cause;
  void (*change)(SamplingRequest& request);
};
/// In the order of the rules in sampling.cc.
const Refusal kRefusals[] = {
    {"a period and a frequency", [](auto& r) { r.frequency = 99; }},
    {"longer than", [](auto& r) { r.period = std::uint64_t{1} << 63; }},
    {"wakeup_events and wakeup_watermark",
     [](auto& r) { r.wakeup_events = r.wakeup_watermark = 1; }},
    {"precise_ip", [](auto& r) { r.precise_ip = static_cast<Skid>(4); }},
    {"clock", [](auto& r) { r.clockid = CLOCK_PROCESS_CPUTIME_ID; }},
    {"PERF_SAMPLE_BRANCH_STACK", [](auto& r) { r.branch_sample_type = 8; }},
    {"PERF_SAMPLE_BRANCH_STACK",
     [](auto& r) {
       r.sample_type |= PERF_SAMPLE_BRANCH_STACK, r.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
     }},
    {"sample_regs_user", [](auto& r) { r.sample_regs_user = 1; }},
    {"sample_regs_user", [](auto& r) { r.sample_type |= PERF_SAMPLE_REGS_USER; }},
    {"sample_regs_intr", [](auto& r) { r.sample_regs_intr = 1; }},
    {"sample_stack_user need", [](auto& r) { r.sample_stack_user = 8; }},
    {"aux_sample_size", [](auto& r) { r.aux_sample_size = 8; }},
    {"multiple of 8",
     [](auto& r) { r.sample_type |= PERF_SAMPLE_STACK_USER, r.sample_stack_user = 100; }},
    {"multiple of 8",
     [](auto& r) { r.sample_type |= PERF_SAMPLE_STACK_USER, r.sample_stack_user = 65536; }},
    {"sample_max_stack", [](auto& r) { r.sample_max_stack = 8; }},
    {"of a thread", [](auto& r) { r.sample_type = PERF_SAMPLE_READ, r.inherit = true; }},
    {"inherit_thread", [](auto& r) { r.inherit_thread = true; }},
    {"inherit_stat", [](auto& r) { r.inherit_stat = true; }},
    {"remove and enable", [](auto& r) { r.remove_on_exec = r.enable_on_exec = true; }},
    {"handler", [](auto& r) { r.sigtrap = true; }},
    {"sig_data", [](auto& r) { r.sig_data = 1; }},
    {"while another event has mmap", [](auto& r) { r.mmap2 = true; }},
    {"build id", [](auto& r) { r.mmap = r.build_id = true; }},
    {"comm_exec", [](auto& r) { r.comm_exec = true; }},
    {"pause and resume", [](auto& r) { r.aux_pause = r.aux_resume = true; }},
};

TEST(SamplingTest, RefusesWhatNoKernelAcceptsOrHeeds) {
  for (const Refusal& refusal : kRefusals) {
    const Result<EventAttr> attr = to_attr(plain_with(refusal.change));

    ASSERT_THAT(attr, FailsWith(EINVAL)) << refusal.cause;
    EXPECT_THAT(attr.error().cause, HasSubstr(refusal.cause));
    EXPECT_FALSE(attr.error().remedy.empty());
  }
}

TEST(SamplingTest, OpensNothingThatItRefuses) {
  test::ScriptedKernel kernel;

  const auto event =
      open_sampling(kernel, plain_with([](SamplingRequest& r) { r.frequency = 1; }), {.pid = 0});

  EXPECT_FALSE(event);
  EXPECT_EQ(kernel.opened_events.opened(), 0U);
}

TEST(SamplingTest, OpensTheEventForItsTarget) {
  test::ScriptedKernel kernel;
  const EventTarget target{.pid = 12, .cpu = 3, .group_fd = 7, .flags = PERF_FLAG_FD_NO_GROUP};

  const Result<OpenCounter> event = open_sampling(kernel, plain(), target);

  ASSERT_TRUE(event);
  EXPECT_TRUE(event->fd);
  const auto& opened = kernel.opened_events.at(0);
  EXPECT_EQ(event->id, opened.id);
  EXPECT_EQ(opened.attr, attr_of(plain()));
  EXPECT_THAT(opened.target, FieldsAre(12, 3, 7, PERF_FLAG_FD_NO_GROUP));
}

TEST(SamplingTest, SetsTheFilterOfATracepoint) {
  test::ScriptedKernel kernel;
  const auto request = plain_with([](auto& r) { r.event.filter = "prev_prio < 100"; });

  ASSERT_TRUE(open_sampling(kernel, request, {.pid = 0}));

  const auto controls = kernel.opened_events.controls();
  ASSERT_EQ(controls.size(), 1U);
  EXPECT_EQ(controls[0].operation, EventControl::kSetFilter);
  EXPECT_STREQ(reinterpret_cast<const char*>(controls[0].argument), "prev_prio < 100");
}

TEST(SamplingTest, ReportsAFilterThatTheKernelCannotParseWhateverElseIsAskedFor) {
  test::ScriptedKernel kernel;
  kernel.opened_events.refuse_control = [](const auto&) { return EINVAL; };
  SamplingRequest request = plain();
  request.event.filter = "bogus";
  SamplingRequest by_frequency = request;
  by_frequency.period = 0;
  by_frequency.frequency = 99;
  by_frequency.clockid = CLOCK_REALTIME;

  for (const SamplingRequest& asked : {request, by_frequency}) {
    EXPECT_THAT(open_sampling(kernel, asked, {.pid = 0}),
                HasError(Field(&Error::cause, HasSubstr("filter"))));
  }
}

/// Of a kernel whose perf_event_attr has `known` bytes.
Error refusal_of_old_kernel(const SamplingRequest& request, std::uint32_t known) {
  test::ScriptedKernel kernel;
  kernel.opened_events.refuse_open = [&](EventAttr& attr, const EventTarget&) {
    if (attr.size <= known) return 0;
    attr.size = known;
    return E2BIG;
  };
  const Result<OpenCounter> event = open_sampling(kernel, request, {.pid = 0}, {3, 10, 0});
  return event ? Error{} : event.error();
}

TEST(SamplingTest, NamesTheFieldsThatTheKernelIsTooOldFor) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.remove_on_exec = r.sigtrap = true;
    r.sig_data = 1;
    r.aux_watermark = 1;
    r.event.config2 = 7;
  });

  const Error error = refusal_of_old_kernel(request, 104);

  EXPECT_EQ(error.code, E2BIG);
  EXPECT_THAT(error.cause,
              AllOf(HasSubstr("104 bytes"), HasSubstr("aux_watermark and sig_data need Linux 5.13"),
                    Not(HasSubstr("config2"))));
  EXPECT_THAT(error.remedy.text(), HasSubstr("leave out aux_watermark and sig_data"));
}

TEST(SamplingTest, NamesTheReleaseOfAFieldThatIsYoungerThanItsRoom) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.aux_pause = true;
    r.remove_on_exec = r.sigtrap = true;
    r.sig_data = 1;
  });

  const Error error = refusal_of_old_kernel(request, 112);

  EXPECT_THAT(error.cause, HasSubstr("aux_action and sig_data need Linux 6.13"));
  EXPECT_THAT(error.remedy.text(), HasSubstr("or use Linux 6.13"));
}

TEST(SamplingTest, NamesOneFieldOfAUnion) {
  const auto request = plain_with([](SamplingRequest& r) { r.event.config2 = 7; });

  EXPECT_THAT(refusal_of_old_kernel(request, 64).cause, HasSubstr("and bp_len needs Linux 2.6.33"));
}

/// Of a kernel that refuses everything with `code`.
Error refusal(int code, const SamplingRequest& request, const EventTarget& target = {.pid = 0},
              host::KernelVersion version = kToday) {
  test::ScriptedKernel kernel;
  kernel.opened_events.refuse_open = [=](EventAttr&, const EventTarget&) { return code; };
  const Result<OpenCounter> event = open_sampling(kernel, request, target, version);
  return event ? Error{} : event.error();
}

TEST(SamplingTest, NamesTheFlagsThatTheKernelIsTooOldFor) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.cgroup = true;
    r.text_poke = true;
    r.sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
    r.comm = true;
  });

  const Error error = refusal(EINVAL, request, {.pid = 0}, {5, 4, 0});

  EXPECT_THAT(error.cause,
              HasSubstr("cgroup (5.7), text_poke (5.9) and PERF_SAMPLE_WEIGHT_STRUCT (5.12)"));
  EXPECT_THAT(error.cause, Not(HasSubstr("comm")));
  EXPECT_THAT(error.remedy.text(), HasSubstr("use Linux 5.12"));
}

std::vector<std::string_view> names_later_than(const host::KernelVersion& version,
                                               const SamplingRequest& request) {
  std::vector<std::string_view> names;
  for (const AbiEntry& need : later_than(version, attr_of(request))) names.push_back(need.name);
  return names;
}

TEST(SamplingTest, KnowsWhatAKernelDoesNotHave) {
  const auto request = plain_with([](SamplingRequest& r) {
    r.inherit = true;
    r.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
    r.read_format = PERF_FORMAT_LOST;
    r.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | kBranchCounters;
    r.sample_max_stack = 4;
    r.aux_pause = true;
    r.defer_callchain = true;
  });

  EXPECT_THAT(names_later_than({6, 19, 0}, request), IsEmpty());
  EXPECT_THAT(names_later_than({6, 18, 44}, request), ElementsAre("defer_callchain"));
  EXPECT_THAT(names_later_than({6, 1, 0}, request),
              ElementsAre("PERF_SAMPLE_BRANCH_COUNTERS", "PERF_SAMPLE_READ with inherit",
                          "aux_pause", "defer_callchain"));
  EXPECT_THAT(names_later_than({4, 7, 0}, request),
              ElementsAre("sample_max_stack", "PERF_FORMAT_LOST", "PERF_SAMPLE_BRANCH_COUNTERS",
                          "PERF_SAMPLE_READ with inherit", "aux_pause", "defer_callchain"));
}

constexpr auto kPlain = [](SamplingRequest&) {};
struct Meaning {
  int code;
  const char* cause;
  void (*change)(SamplingRequest& request);
  EventTarget target = {.pid = 0};
};
const Meaning kMeanings[] = {
    {EINVAL, "gets the signal", [](auto& r) { r.sigtrap = r.remove_on_exec = true; }, {.cpu = 0}},
    {EINVAL, "any CPU", kPlain, {}},
    {EINVAL, "perf_event_max_sample_rate", [](auto& r) { r.period = 0, r.frequency = 1'000'000; }},
    {EINVAL, "clock", [](auto& r) { r.clockid = CLOCK_REALTIME; }},
    {EOVERFLOW, "perf_event_max_stack", kPlain},
    {EACCES, "PERF_RECORD_NAMESPACES", [](auto& r) { r.namespaces = true; }},
    {EACCES, "CAP_PERFMON", kPlain, {.cpu = 0}},
    {EACCES, "another user", kPlain, {.pid = std::numeric_limits<int>::max()}},
    {ESRCH, "no such process", kPlain, {.pid = 12}},
    {ENOENT,
     "not attached to this cgroup",
     kPlain,
     {.pid = 5, .cpu = 0, .flags = PERF_FLAG_PID_CGROUP}},
    {EBADF, "is not a cgroup", kPlain, {.pid = 5, .cpu = 0, .flags = PERF_FLAG_PID_CGROUP}},
    {ENOSYS, "user stacks",
     [](auto& r) { r.sample_type |= PERF_SAMPLE_STACK_USER, r.sample_stack_user = 8; }},
    {EOPNOTSUPP, "cannot interrupt", kPlain},
    {EMFILE, "no free descriptor", kPlain},
};

TEST(SamplingTest, SaysWhatAnErrorMeans) {
  for (const Meaning& meaning : kMeanings) {
    const Error error = refusal(meaning.code, plain_with(meaning.change), meaning.target);

    EXPECT_EQ(error.code, meaning.code);
    EXPECT_THAT(error.cause, HasSubstr(meaning.cause));
    EXPECT_FALSE(error.remedy.empty()) << meaning.cause;
  }
}

TEST(SamplingTableTest, HasEachFieldOfTheStructure) {
  std::size_t end = 0;
  for (const AttrFieldEntry& field : attr_numbers()) {
    EXPECT_EQ(field.offset, end) << field.abi.name << ": what is before it has no entry";
    end = field.end();
    const bool is_before_a_gap =
        end == offsetof(EventAttr, flags) || end == offsetof(EventAttr, reserved_2);
    if (is_before_a_gap) end += end == offsetof(EventAttr, flags) ? 8 : 2;
  }
  EXPECT_EQ(end, sizeof(EventAttr));
}

TEST(SamplingTableTest, HasEachFlagInItsOrder) {
  unsigned next = 0;
  for (const AttrFlagEntry& entry : attr_flags()) {
    if (next == static_cast<unsigned>(AttrFlag::kPreciseIp)) next += kPreciseIpBits;
    EXPECT_EQ(static_cast<unsigned>(entry.flag), next++) << entry.abi.name;
  }
  EXPECT_EQ(next, static_cast<unsigned>(AttrFlag::kDeferOutput) + 1);
}

TEST(SamplingExample, IsRight) {
  test::ScriptedKernel kernel;

  SamplingRequest request;
  request.event = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES};
  request.period = 1;
  request.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  request.comm = true;
  request.wakeup_watermark = 4096;
  const Result<OpenCounter> event = open_sampling(kernel, request, {.pid = 0});

  EXPECT_TRUE(event);
}

TEST(SamplingTableExample, IsRight) {
  ::testing::internal::CaptureStdout();

  for (const AttrFlagEntry& entry : attr_flags()) {
    std::cout << entry.abi.name << ": since Linux " << entry.abi.since << '\n';
  }

  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr("write_backward: since Linux 4.7\n"));
}

}  // namespace
}  // namespace pex::perf
