#include "events/event_syntax.h"

#include <limits>
#include <random>

#include "events/event_table.h"
#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::events {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

/// The modifiers that these letters stand for.
Modifiers mods(std::string_view letters) {
  Modifiers modifiers;
  for (const char letter : letters) {
    if (letter == 'p') ++modifiers.precise;
    for (const auto& [known, flag] : kModifierLetters) {
      if (letter == known) modifiers.*flag = true;
    }
  }
  return modifiers;
}

ParsedEvent event(EventKind kind, std::string_view letters = "") {
  return {std::move(kind), mods(letters), {}};
}
ParsedEvent named(const char* name, std::string_view letters = "") {
  return event(NamedEvent{name}, letters);
}
ParsedEvent raw(std::uint64_t config, std::string_view letters = "") {
  return event(RawEvent{config}, letters);
}
ParsedEvent pmu(const char* name, std::vector<Term> terms, const char* given_name = "",
                std::string_view letters = "") {
  return event(PmuEvent{name, std::move(terms), given_name}, letters);
}
ParsedEvent tracepoint(const char* system, const char* name, std::string_view letters = "") {
  return event(Tracepoint{system, name}, letters);
}
ParsedEvent breakpoint(std::uint64_t address, std::uint64_t length, std::string_view access,
                       std::string_view letters = "") {
  const auto has = [access](char c) { return access.find(c) != std::string_view::npos; };
  return event(Breakpoint{address, length, has('r'), has('w'), has('x')}, letters);
}
ParsedEvent kprobe(const char* symbol, std::uint64_t offset = 0) {
  return event(Probe{true, false, "", symbol, offset});
}
ParsedEvent kretprobe(const char* symbol) { return event(Probe{true, true, "", symbol, 0}); }
ParsedEvent uprobe(const char* file, const char* symbol, std::uint64_t offset = 0) {
  return event(Probe{false, false, file, symbol, offset});
}
ParsedEvent uretprobe(const char* file, const char* symbol, std::uint64_t offset = 0) {
  return event(Probe{false, true, file, symbol, offset});
}
ParsedEvent vendor(const char* name, std::string_view letters = "") {
  return event(VendorEvent{name}, letters);
}

/// What is expected to be understood.
ParsedEvents parsed(const std::string& text) {
  const auto events = parse_events(text);
  if (events) return *events;
  ADD_FAILURE() << text << ": " << events.error().what;
  return {};
}

/// What is expected not to be.
SyntaxError error_of(const std::string& text) {
  const auto events = parse_events(text);
  EXPECT_FALSE(events) << text;
  return events ? SyntaxError{} : events.error();
}

std::string spelled(const ParsedEvents& list) {
  std::string text;
  for (const ParsedEvent& one : list.events) text += (text.empty() ? "" : ",") + spelling(one);
  return list.in_braces ? "{" + text + "}" : text;
}

struct Spelled {
  const char* text;
  ParsedEvent event;
  const char* canonical = text;
};

const std::vector<Spelled>& spelled_events() {
  static const std::vector<Spelled> rows = {
      {"cycles", named("cycles")},
      {"cylces", named("cylces")},
      {"mem-loads", named("mem-loads")},
      {"duration_time", named("duration_time")},
      {"r", named("r")},
      {"raw", named("raw")},
      {"sched:u", named("sched", "u")},
      {"cycles:u", named("cycles", "u")},
      {"cycles:ku", named("cycles", "uk"), "cycles:uk"},
      {"cycles:eWDPIGHhku", named("cycles", "ukhHGIPDWe"), "cycles:ukhHGIPDWe"},
      {"cycles:p", named("cycles", "p")},
      {"cycles:pup", named("cycles", "upp"), "cycles:upp"},
      {"cycles:Dppp", named("cycles", "pppD"), "cycles:pppD"},
      {"r01c2", raw(0x1c2), "r1c2"},
      {"r0", raw(0)},
      {"r0x1a8", raw(0x1a8), "r1a8"},
      {"r0x0000000000000001:u", raw(1, "u"), "r1:u"},
      {"rDEAD", raw(0xdead), "rdead"},
      {"race", raw(0xace)},
      {"rffffffffffffffff", raw(kMax)},
      {"r003c:uk", raw(0x3c, "uk"), "r3c:uk"},
      {"cpu/event=0x3c/", pmu("cpu", {{"event", 0x3c, {}}})},
      {"cpu/event=60/", pmu("cpu", {{"event", 60, {}}}), "cpu/event=0x3c/"},
      {"cpu/event=010/", pmu("cpu", {{"event", 10, {}}}), "cpu/event=0xa/"},
      {"cpu//", pmu("cpu", {})},
      {"cpu//u", pmu("cpu", {}, "", "u")},
      {"mem/x/", pmu("mem", {{"x", {}, {}}})},
      {"cycles/name=c/u", pmu("cycles", {}, "c", "u")},
      {"power/energy-pkg/", pmu("power", {{"energy-pkg", {}, {}}})},
      {"cpu/event=0xc0,inv,cmask=1/pp",
       pmu("cpu", {{"event", 0xc0, {}}, {"inv", {}, {}}, {"cmask", 1, {}}}, "", "pp"),
       "cpu/event=0xc0,inv,cmask=0x1/pp"},
      {"cpu/event=0x3c/:ku", pmu("cpu", {{"event", 0x3c, {}}}, "", "uk"), "cpu/event=0x3c/uk"},
      {"cpu/config=0x3c,config1=1,config2=2,config3=0xffffffffffffffff/",
       pmu("cpu",
           {{"config", 0x3c, {}}, {"config1", 1, {}}, {"config2", 2, {}}, {"config3", kMax, {}}}),
       "cpu/config=0x3c,config1=0x1,config2=0x2,config3=0xffffffffffffffff/"},
      {"cpu/config=18446744073709551615/", pmu("cpu", {{"config", kMax, {}}}),
       "cpu/config=0xffffffffffffffff/"},
      {"cpu/name=foo,event=1/", pmu("cpu", {{"event", 1, {}}}, "foo"), "cpu/event=0x1,name=foo/"},
      {"cpu/name='plain'/", pmu("cpu", {}, "plain"), "cpu/name=plain/"},
      {"cpu/event=1,name='a, b/{c}:u'/k", pmu("cpu", {{"event", 1, {}}}, "a, b/{c}:u", "k"),
       "cpu/event=0x1,name='a, b/{c}:u'/k"},
      {"uncore_imc*/cas_count_read/", pmu("uncore_imc*", {{"cas_count_read", {}, {}}})},
      {"uncore_cha_[0-3]?/event=0x50/", pmu("uncore_cha_[0-3]?", {{"event", 0x50, {}}})},
      {"arm_smmuv3.pmcg-1/t.a-b_c/", pmu("arm_smmuv3.pmcg-1", {{"t.a-b_c", {}, {}}})},
      {"sched:sched_switch", tracepoint("sched", "sched_switch")},
      {"sched:sched_switch:ku", tracepoint("sched", "sched_switch", "uk"), "sched:sched_switch:uk"},
      {"syscalls:sys_enter_openat", tracepoint("syscalls", "sys_enter_openat")},
      {"probe:Some_Function", tracepoint("probe", "Some_Function")},
      {"probe:keep", tracepoint("probe", "keep")},
      {"mygroup:keep", tracepoint("mygroup", "keep")},
      {"mygroup:up:k", tracepoint("mygroup", "up", "k")},
      {"MyGroup:a-b:k", tracepoint("MyGroup", "a-b", "k")},
      {"probe:up:k", tracepoint("probe", "up", "k")},
      {"probe_libQt5Core:QObject_event", tracepoint("probe_libQt5Core", "QObject_event")},
      {"sdt_MyServer:request__start:u", tracepoint("sdt_MyServer", "request__start", "u")},
      {"xhci-hcd:xhci_alloc_dev", tracepoint("xhci-hcd", "xhci_alloc_dev")},
      {"xhci-hcd:xhci_alloc_dev:k", tracepoint("xhci-hcd", "xhci_alloc_dev", "k")},
      {"mem-loads:foo", tracepoint("mem-loads", "foo")},
      {"9p:9p-client_req", tracepoint("9p", "9p-client_req")},
      {"cylces:uz", tracepoint("cylces", "uz")},
      {"mem:0x1000", breakpoint(0x1000, 4, "rw"), "mem:0x1000/4:rw"},
      {"mem:0x1000:w", breakpoint(0x1000, 4, "w"), "mem:0x1000/4:w"},
      {"mem:0x1000/8:wr", breakpoint(0x1000, 8, "rw"), "mem:0x1000/8:rw"},
      {"mem:0x1000/1:r:u", breakpoint(0x1000, 1, "r", "u")},
      {"mem:4096/0x2", breakpoint(0x1000, 2, "rw"), "mem:0x1000/2:rw"},
      {"mem:0xFFFFffff81000000:x:k", breakpoint(0xffffffff81000000, sizeof(long), "x", "k"),
       sizeof(long) == 8 ? "mem:0xffffffff81000000/8:x:k" : "mem:0xffffffff81000000/4:x:k"},
      {"mem:0x1000/1:x", breakpoint(0x1000, 1, "x"), "mem:0x1000/1:x"},
      {"kprobe:do_exit", kprobe("do_exit")},
      {"kprobe:do_exit+0x10", kprobe("do_exit", 16)},
      {"kprobe:foo.isra.0+16", kprobe("foo.isra.0", 16), "kprobe:foo.isra.0+0x10"},
      {"kretprobe:do_exit", kretprobe("do_exit")},
      {"kretprobe:do_exit+0", kretprobe("do_exit"), "kretprobe:do_exit"},
      {"uprobe:/usr/bin/bash:readline", uprobe("/usr/bin/bash", "readline")},
      {"uprobe:/usr/bin/bash:readline+4", uprobe("/usr/bin/bash", "readline", 4),
       "uprobe:/usr/bin/bash:readline+0x4"},
      {"uprobe:/usr/bin/bash:0x1234", uprobe("/usr/bin/bash", "", 0x1234)},
      {"uprobe:/usr/bin/bash:0", uprobe("/usr/bin/bash", ""), "uprobe:/usr/bin/bash:0x0"},
      {"uprobe:/srv/a:b/main:main", uprobe("/srv/a:b/main", "main")},
      {"uprobe:/srv/a:b/main:u", uprobe("/srv/a:b/main", "u")},
      {"uprobe:/lib/libc.so.6:malloc@@GLIBC_2.2.5",
       uprobe("/lib/libc.so.6", "malloc@@GLIBC_2.2.5")},
      {"uprobe:/srv/server:main.(*Server).Serve", uprobe("/srv/server", "main.(*Server).Serve")},
      {"uretprobe:/usr/bin/bash:readline", uretprobe("/usr/bin/bash", "readline")},
      {"uretprobe:/usr/bin/bash:0x1234", uretprobe("/usr/bin/bash", "", 0x1234)},
      {"INST_RETIRED:ANY_P", vendor("INST_RETIRED:ANY_P")},
      {"INST_RETIRED:ANY_P:ku", vendor("INST_RETIRED:ANY_P", "uk"), "INST_RETIRED:ANY_P:uk"},
      {"INST_RETIRED:ANY_P:u:k", vendor("INST_RETIRED:ANY_P", "uk"), "INST_RETIRED:ANY_P:uk"},
      {"INST_RETIRED:ANY_P:D", vendor("INST_RETIRED:ANY_P:D")},
      {"OFFCORE_RESPONSE_0:ANY_DATA:c=1:u", vendor("OFFCORE_RESPONSE_0:ANY_DATA:c=1", "u")},
      {"OFFCORE_RESPONSE_0:offcore_rsp=0xffff", vendor("OFFCORE_RESPONSE_0:offcore_rsp=0xffff")},
      {"arm_n1::L1D_CACHE_REFILL", vendor("arm_n1::L1D_CACHE_REFILL")},
      {"arm_n1::l1d_cache:h", vendor("arm_n1::l1d_cache", "h")},
      {"arm_n1::u", vendor("arm_n1::u")},
      {"inst_retired.any", vendor("inst_retired.any")},
      {"inst_retired.any:k", vendor("inst_retired.any", "k")},
  };
  return rows;
}

TEST(ParseEventsTest, UnderstandsEachKindOfEvent) {
  for (const Spelled& row : spelled_events()) {
    const ParsedEvents list = parsed(row.text);

    EXPECT_TRUE(list == (ParsedEvents{{row.event}, false}))
        << row.text << " was taken for " << spelled(list);
  }
}

TEST(SpellingTest, IsCanonical) {
  for (const Spelled& row : spelled_events()) EXPECT_EQ(spelling(row.event), row.canonical);
}

// A table must not get a name that reads as something else, such as a raw number.
TEST(ParseEventsTest, TakesEveryNameOfTheTablesForAName) {
  std::vector<std::string> names;
  for (const GenericEvent& row : generic_events()) {
    names.emplace_back(row.name);
    if (!row.alias.empty()) names.emplace_back(row.alias);
  }
  for (const CacheEvent& row : cache_events()) names.push_back(row.name);

  for (const std::string& name : names) {
    EXPECT_TRUE(parsed(name + ":u") == (ParsedEvents{{named(name.c_str(), "u")}, false})) << name;
  }
}

TEST(ParseEventsTest, UnderstandsLists) {
  struct Row {
    const char* text;
    ParsedEvents list;
  };
  const Row rows[] = {
      {"cycles,instructions", {{named("cycles"), named("instructions")}, false}},
      {"cycles:u , r1:k,cs", {{named("cycles", "u"), raw(1, "k"), named("cs")}, false}},
      {"mem:0x10:rw,cycles", {{breakpoint(16, 4, "rw"), named("cycles")}, false}},
      {"cpu/a,b=1,name='x,y'/u,cpu//",
       {{pmu("cpu", {{"a", {}, {}}, {"b", 1, {}}}, "x,y", "u"), pmu("cpu", {})}, false}},
      {"uprobe:/bin/a:main,kprobe:f", {{uprobe("/bin/a", "main"), kprobe("f")}, false}},
      {"INST_RETIRED:ANY_P:u,a:b",
       {{vendor("INST_RETIRED:ANY_P", "u"), tracepoint("a", "b")}, false}},
      {"{cycles}", {{named("cycles")}, true}},
      {"{ cycles , instructions }", {{named("cycles"), named("instructions")}, true}},
      {"{cycles,cpu/a,b/}:u",
       {{named("cycles", "u"), pmu("cpu", {{"a", {}, {}}, {"b", {}, {}}}, "", "u")}, true}},
      {"{uprobe:/bin/a:main,mem:0x10:w}",
       {{uprobe("/bin/a", "main"), breakpoint(16, 4, "w")}, true}},
  };

  for (const Row& row : rows) {
    const ParsedEvents list = parsed(row.text);

    EXPECT_TRUE(list == row.list) << row.text << " was taken for " << spelled(list);
  }
}

TEST(ParseEventsTest, GivesTheModifiersBehindBracesToEveryEvent) {
  struct Row {
    const char* text;
    const char* same;
  };
  const Row rows[] = {
      {"{cycles,instructions}:u", "{cycles:u,instructions:u}"},
      // as perf stat -vv shows exclude_user, exclude_kernel, exclude_hv, exclude_host,
      // exclude_guest
      {"{cycles:k,instructions}:u", "{cycles:uk,instructions:u}"},
      {"{cycles:k,instructions}:uh", "{cycles:ukh,instructions:uh}"},
      {"{cycles:ukh,instructions}:u", "{cycles:u,instructions:u}"},
      {"{cycles:ukh,instructions:u}:D", "{cycles:ukhD,instructions:uD}"},
      {"{cycles:G,instructions:u}:Hk", "{cycles:kHG,instructions:ukH}"},
      {"{cycles:D,instructions}:WeI", "{cycles:IDWe,instructions:IWe}"},
      {"{cycles:p,instructions:P,cs}:pp", "{cycles:p,instructions:P,cs:pp}"},
      {"{cycles:pp,cs}:P", "{cycles:pp,cs:P}"},
      {"{INST_RETIRED:ANY_P,cycles}:uk", "{INST_RETIRED:ANY_P:uk,cycles:uk}"},
      {"{sched:sched_switch,r1,mem:0x10:w}:kD", "{sched:sched_switch:kD,r1:kD,mem:0x10/4:w:kD}"},
  };

  for (const Row& row : rows) EXPECT_EQ(spelled(parsed(row.text)), row.same);
}

TEST(ParseEventsTest, ReportsWhereEventsAndTermsStand) {
  const ParsedEvents list = parsed("{cycles, cpu/event=1,inv/u}:D");

  ASSERT_EQ(list.events.size(), 2U);
  const auto& terms = std::get<PmuEvent>(list.events[1].kind).terms;
  EXPECT_EQ(list.events[0].at.characters, 1U);
  EXPECT_EQ(list.events[1].at.characters, 9U);
  EXPECT_EQ(terms[0].at.characters, 13U);
  EXPECT_EQ(terms[1].at.characters, 21U);
}

struct Refused {
  const char* text;
  std::size_t at;
  const char* what;
};

const std::vector<Refused>& refused_texts() {
  static const std::vector<Refused> rows = {
      {"", 0, "an event is missing"},
      {" cycles", 0, "a blank is not allowed here"},
      {"cycles ", 6, "a blank is not allowed here"},
      {"cycles instructions", 6, "a blank is not allowed here"},
      {"cycles,", 7, "an event is missing"},
      {",cycles", 0, "an event is missing"},
      {"cycles,,instructions", 7, "an event is missing"},
      {"cycles\011", 6, "the character 0x09 is not printable"},
      {"cycles\303\251", 6, "the character U+00E9 is not ASCII"},
      {"cycles\303", 6, "the character 0xc3 is not printable"},
      {"task\342\200\223clock", 4, "the character U+2013 is not ASCII"},
      {"\342\200\217cycles", 0, "the character U+200F is not ASCII"},
      {"cycles:", 7, "a modifier is missing"},
      {"cycles:z", 7, "'z' is not a modifier"},
      {"cycles:uu", 8, "'u' is repeated"},
      {"cycles:upppp", 11, "'p' occurs more than three times"},
      {"cycles:pP", 8, "'p' and 'P' exclude each other"},
      {"cycles:Pup", 9, "'p' and 'P' exclude each other"},
      {"cycles:u:k", 8, "':' is not allowed here"},
      {"cycles::u", 7, "a modifier is missing before ':'"},
      {"cycles:sched_switch", 7, "'s' is not a modifier"},
      {"cs:foo", 3, "'f' is not a modifier"},
      {"branch-misses:foo", 14, "'f' is not a modifier"},
      {"idle-cycles-backend:foo", 20, "'f' is not a modifier"},
      {"xhci-hcd:", 9, "a modifier or the name of a tracepoint is missing"},
      {":u", 0, "an event is missing before ':'"},
      {"sched:", 6, "a modifier or the name of a tracepoint is missing"},
      {"sched:*", 6, "the name of a tracepoint has no '*'"},
      {"sched:sched_*", 12, "the name of a tracepoint has no '*'"},
      {"sched:sched_switch:", 19, "a modifier is missing"},
      {"sched:sched_switch:z", 19, "'z' is not a modifier"},
      {"sched*:sched_switch", 5, "'*' is not allowed here"},
      {"cyc*", 3, "'*' is not allowed here"},
      {"event=0x3c", 5, "'=' is not allowed here"},
      {"foo.bar-baz", 3, "'.' is not allowed here"},
      {"foo;bar", 3, "';' is not allowed here"},
      {"r01g2", 3, "'g' is not a hexadecimal digit"},
      {"r00000000000000001", 17, "a raw event has at most 16 digits"},
      {"r0x00000000000000001", 19, "a raw event has at most 16 digits"},
      {"r0x", 3, "a number is missing"},
      {"r0xg", 3, "'g' is not a hexadecimal digit"},
      {"r0X1", 2, "'X' is not a hexadecimal digit"},
      {"r1:z", 3, "'z' is not a modifier"},
      {"r1:", 3, "a modifier is missing"},
      {"/event=1/", 0, "the name of a PMU is missing before '/'"},
      {"cpu/event=1", 11, "the closing '/' is missing"},
      {"cpu/", 4, "the closing '/' is missing"},
      {"cpu/event=0x3g/", 13, "'g' is not a hexadecimal digit"},
      {"cpu/event=3c/", 11, "'c' is not a digit"},
      {"cpu/event=/", 10, "a number is missing before '/'"},
      {"cpu/event=0x/", 12, "a number is missing before '/'"},
      {"cpu/event=18446744073709551616/", 29, "the number does not fit into 64 bits"},
      {"cpu/event=0x10000000000000000/", 28, "the number does not fit into 64 bits"},
      {"cpu/event=foo/", 10, "'f' is not a digit"},
      {"cpu/event=-1/", 10, "a number is missing before '-'"},
      {"cpu/event=1,/", 12, "a term is missing before '/'"},
      {"cpu/,/", 4, "a term is missing"},
      {"cpu/event=1,,umask=1/", 12, "a term is missing"},
      {"cpu/event=1,event=2/", 12, "the term 'event' is repeated"},
      {"cpu/name=a,name=b/", 11, "the term 'name' is repeated"},
      {"cpu/name/", 8, "the value of 'name' is missing before '/'"},
      {"cpu/name=/", 9, "a name is missing before '/'"},
      {"cpu/name='/", 11, "the closing quote is missing"},
      {"cpu/name=''/", 10, "a name is missing before '''"},
      {"cpu/name='a/", 12, "the closing quote is missing"},
      {"cpu/name='--'/", 10, "the name '--' has no letter or digit"},
      {"cpu/name='a'b/", 12, "'b' is not allowed here"},
      {"cpu/name='a\011'/", 11, "the character 0x09 is not printable"},
      {"cpu/event=1,period=1000/", 12, "the term 'period' is about sampling"},
      {"cpu/event=1,call-graph=lbr/", 12, "the term 'call-graph' is about sampling"},
      {"cpu/event=1,percore/", 12, "the term 'percore' is about what perf prints"},
      {"cpu/event=1, umask=1/", 12, "a blank is not allowed here"},
      {"cpu/event*=1/", 9, "'*' is not allowed here"},
      {"cpu/event=1/z", 12, "'z' is not a modifier"},
      {"cpu/event=1/u:k", 13, "':' is not allowed here"},
      {"cpu/event=1/:", 13, "a modifier is missing"},
      {"cpu/a=1/uu", 9, "'u' is repeated"},
      {"cp$u/event=1/", 2, "'$' is not allowed here"},
      {"mem", 3, "':' with an address is missing"},
      {"mem:", 4, "a number is missing"},
      {"mem:foo", 4, "'f' is not a digit"},
      {"mem:0x12g4", 8, "'g' is not a hexadecimal digit"},
      {"mem:0x1000:", 11, "r, w or x is missing"},
      {"mem:0x1000:u", 11, "'u' is not r, w or x"},
      {"mem:0x1000:rr", 12, "'r' is repeated"},
      {"mem:0x1000:rwx", 11, "'x' cannot be combined with 'r' or 'w'"},
      {"mem:0x1000:rw:", 14, "a modifier is missing"},
      {"mem:0x1000:rw:z", 14, "'z' is not a modifier"},
      {"mem:0x1000/3", 11, "the length is not 1, 2, 4 or 8"},
      {"mem:0x1000/", 11, "a number is missing"},
      {"mem:0x1000/8x", 12, "'x' is not a digit"},
      {"mem:0x1000-8", 10, "'-' is not allowed here"},
      {"kprobe", 6, "':' with a function is missing"},
      {"kprobe:", 7, "the name of a function is missing"},
      {"kprobe:0xffff", 7, "the name of a function is missing before '0'"},
      {"kprobe:do_exit+", 15, "a number is missing"},
      {"kprobe:do_exit+zz", 15, "'z' is not a digit"},
      {"kprobe:do_exit:u", 14, "a probe takes no modifiers"},
      {"kprobe:do exit", 9, "a blank is not allowed here"},
      {"kretprobe:do_exit+4", 18, "a probe of a function's return takes no offset"},
      {"uprobe:", 7, "an absolute path is missing"},
      {"uprobe:bash:main", 7, "an absolute path is missing before 'b'"},
      {"uprobe:/bin/bash", 16, "':' with a place in the file is missing"},
      {"uprobe:/bin/bash:", 17, "the name of a function is missing"},
      {"uprobe:/bin/bash:main:u", 21, "a probe takes no modifiers"},
      {"uprobe:/bin/bash:0x1z", 20, "'z' is not a hexadecimal digit"},
      {"uprobe:/bin/b,c:main", 13, "':' with a place in the file is missing"},
      {"uretprobe:/bin/bash:main+4", 25, "a probe of a function's return takes no offset"},
      {"INST_RETIRED:", 13, "a part of the name is missing"},
      {"INST_RETIRED:ANY-P=1", 16, "'-' is not allowed here"},
      {"INST_RETIRED::ANY::P", 18, "a part of the name is missing before ':'"},
      {"INST_RETIRED:ANY:c=", 19, "the value of an attribute is missing"},
      {"INST_RETIRED:ANY:uu", 18, "'u' is repeated"},
      {"INST_RETIRED:*", 13, "a part of the name is missing before '*'"},
      {"arm_n1::", 8, "a part of the name is missing"},
      {"{}", 1, "an event is missing"},
      {"{cycles", 7, "the closing '}' is missing"},
      {"{cycles,}", 8, "an event is missing"},
      {"{cycles}{instructions}", 8, "'{' is not allowed here"},
      {"{cycles},{instructions}", 8, "',' is not allowed here"},
      {"{cycles},instructions", 8, "',' is not allowed here"},
      {"cycles,{instructions}", 7, "'{' is not allowed here"},
      {"cycles{instructions}", 6, "'{' is not allowed here"},
      {"{cycles,{instructions}}", 8, "'{' is not allowed here"},
      {"{cycles{", 7, "'{' is not allowed here"},
      {"cycles}", 6, "'}' is not allowed here"},
      {"{cycles}u", 8, "'u' is not allowed here"},
      {"{cycles}:", 9, "a modifier is missing"},
      {"{cycles}:z", 9, "'z' is not a modifier"},
      {"{cycles} :u", 8, "a blank is not allowed here"},
      {"{cycles}:u ", 10, "a blank is not allowed here"},
      {"{cycles}:u,cs", 10, "',' is not allowed here"},
      {"{cycles,kprobe:do_exit}:u", 23, "'kprobe:do_exit' does not take these modifiers"},
      {"{cycles,INST_RETIRED:ANY_P}:uD", 27, "'INST_RETIRED:ANY_P' does not take these modifiers"},
      {"{cycles,sched:*}", 14, "the name of a tracepoint has no '*'"},
  };
  return rows;
}

TEST(ParseEventsTest, ReportsWhatIsWrongAndWhere) {
  for (const Refused& row : refused_texts()) {
    const SyntaxError error = error_of(row.text);

    EXPECT_EQ(error.at.characters, row.at) << row.text;
    EXPECT_EQ(error.what, row.what) << row.text;
    EXPECT_FALSE(error.remedy.empty()) << row.text;
  }
}

TEST(ParseEventsTest, ReportsHowItIsWritten) {
  struct Row {
    const char* text;
    const char* remedy;
  };
  const Row rows[] = {
      {"probe:/bin/bash:f", "'uprobe:/bin/bash:readline'"},
      {"cycles:z", "'cycles:uk'"},
      {"sched:*", "'sched:sched_switch'"},
      {"event=0x3c", "'cpu/event=0x3c,umask=0x1/'"},
      {"unc*", "'uncore_imc*/cas_count_read/'"},
      {"mem:main", "'mem:0x1000/8:rw'"},
      {"{cycles},{cs}", "'groups'"},
      {"cycles,{cs}", "'groups'"},
      {"{cycles,{cs}}", "'groups'"},
      {"{kprobe:do_exit}:D", "'pinned'"},
      {"INST_RETIRED:ANY:uu", "u, k and h"},
      {"cpu/event=1,percore/", "'aggregate: core'"},
  };

  for (const Row& row : rows) {
    EXPECT_THAT(error_of(row.text).remedy, ::testing::HasSubstr(row.remedy)) << row.text;
  }
}

TEST(ParseEventsTest, RefusesTheTermsOfSampling) {
  const char* const terms[] = {
      "period=1",       "freq=1",        "time",        "call-graph=lbr",    "stack-size=1",
      "inherit",        "no-inherit",    "max-stack=1", "overwrite",         "no-overwrite",
      "nr=1",           "driver-config", "aux-output",  "aux-sample-size=1", "max-nr=1",
      "branch_type=any"};

  for (const std::string term : terms) {
    const SyntaxError error = error_of("cpu/" + term + "/");

    EXPECT_EQ(error.at.characters, 4U) << term;
    EXPECT_THAT(error.what, ::testing::HasSubstr("about sampling")) << term;
  }
}

TEST(ParseEventsTest, TakesTextsUpToTheirLimit) {
  const std::string longest(kMaxEventText, 'a');

  EXPECT_TRUE(parse_events(longest));
  EXPECT_EQ(error_of(longest + "a").at.characters, kMaxEventText);
  EXPECT_EQ(error_of(longest + "a").what, "there are more than 4096 characters");
}

// "=1" becomes "=0x1": what is as long as may be would have a spelling that is too long.
TEST(ParseEventsTest, RefusesAnEventWhoseSpellingWouldBeTooLong) {
  const std::string name(kMaxEventText - std::string("cpu/b=0x1,=0x1/").size(), 'a');

  EXPECT_TRUE(parse_events("cpu/b=1," + name + "=1/"));
  const SyntaxError error = error_of("{cpu/b=1," + name + "a=1/}");
  EXPECT_EQ(error.at.characters, 1U);
  EXPECT_EQ(error.what, "the event has too many characters");
}

TEST(ParseEventsTest, ShowsOnlyTheBeginningOfWhatIsLong) {
  const std::string term(1000, 'a');

  EXPECT_EQ(error_of("cpu/" + term + "," + term + "/").what,
            "the term '" + std::string(60, 'a') + "...' is repeated");
}

TEST(ParseEventsTest, NeverRepeatsACharacterThatATerminalObeys) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte >= ' ' && byte <= '~') continue;
    const char character = static_cast<char>(byte);

    const SyntaxError error = error_of(std::string("cpu/name='") + character + "'/");

    EXPECT_EQ(error.at.characters, 10U) << byte;
    EXPECT_EQ(error.what.find(character), std::string::npos) << byte;
  }
}

// Events as parse_events may give them

constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view kWord = "abcxyzABCXYZ0189_";

/// `first`, and then any of `characters`.
rc::Gen<std::string> text_of(const std::string& first, std::string_view characters) {
  const std::string choice(characters);
  return rc::gen::map(rc::gen::container<std::string>(rc::gen::elementOf(choice)),
                      [first](const std::string& rest) { return first + rest; });
}

rc::Gen<std::uint64_t> numbers() {
  return rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                        rc::gen::element<std::uint64_t>(0, 1, 255, kMax - 1, kMax));
}

Modifiers any_modes() {
  Modifiers modes;
  modes.user = *rc::gen::arbitrary<bool>();
  modes.kernel = *rc::gen::arbitrary<bool>();
  modes.hypervisor = *rc::gen::arbitrary<bool>();
  return modes;
}

Modifiers any_modifiers() {
  Modifiers modifiers;
  for (const auto& [letter, flag] : kModifierLetters) {
    modifiers.*flag = *rc::gen::arbitrary<bool>();
  }
  if (!modifiers.most_precise) modifiers.precise = *rc::gen::inRange(0U, 4U);
  return modifiers;
}

EventKind any_name() {
  const std::string small = *text_of("x", kSmall);
  const std::string dashed = *text_of("L-", std::string(kWord) + "-");
  return NamedEvent{*rc::gen::element(small, dashed)};
}

EventKind any_raw_event() { return RawEvent{*numbers()}; }

EventKind any_pmu_event() {
  PmuEvent event;
  event.pmu = *text_of(*rc::gen::element<std::string>("cpu", "*", "[", "-", "."),
                       std::string(kWord) + "-.*?[]");
  const int terms = *rc::gen::inRange(0, 5);
  for (int i = 0; i < terms; ++i) {
    const std::string first = "x" + std::to_string(i);  // no term is repeated
    Term term{*text_of(first, std::string(kWord) + "-."), {}, {}};
    if (*rc::gen::arbitrary<bool>()) term.value = *numbers();
    event.terms.push_back(std::move(term));
  }
  const std::string word = *text_of("n", std::string(kWord) + "-.");
  const std::string needs_quotes = *text_of(" n", std::string(kWord) + ",/{}:=\"#");
  event.given_name = *rc::gen::element(std::string{}, word, needs_quotes);
  return event;
}

EventKind any_tracepoint() {
  return Tracepoint{*text_of("x", std::string(kSmall) + "-"),
                    *text_of("s", std::string(kWord) + "-")};
}

EventKind any_breakpoint() {
  const std::string access = *rc::gen::element<std::string>("r", "w", "rw", "x");
  return breakpoint(*numbers(), *rc::gen::element(1U, 2U, 4U, 8U), access).kind;
}

EventKind any_probe() {
  Probe probe;
  probe.in_kernel = *rc::gen::arbitrary<bool>();
  probe.at_return = *rc::gen::arbitrary<bool>();
  if (!probe.in_kernel) probe.file = *text_of("/", std::string(kWord) + "/:.-+='");
  const bool has_symbol = probe.in_kernel || *rc::gen::arbitrary<bool>();
  if (has_symbol) probe.symbol = *text_of("s", std::string(kWord) + ".$@()*[]");
  if (!has_symbol || !probe.at_return) probe.offset = *numbers();
  return probe;
}

EventKind any_vendor_event() {
  std::string name = *text_of(*rc::gen::element<std::string>("X", "x.", "x::X"), "ABCukh01_.");
  const int parts = *rc::gen::inRange(0, 4);
  for (int i = 0; i < parts; ++i) {
    name += ":" + *text_of("A", "ABCukh01_.");
    if (*rc::gen::arbitrary<bool>()) name += "=" + *text_of("0", "ukhx01f");
  }
  return VendorEvent{name};
}

ParsedEvent any_event() {
  using Maker = EventKind (*)();
  const Maker maker =
      *rc::gen::element<Maker>(any_name, any_raw_event, any_pmu_event, any_tracepoint,
                               any_breakpoint, any_probe, any_vendor_event);
  ParsedEvent made{maker(), {}, {}};
  if (std::holds_alternative<VendorEvent>(made.kind)) {
    made.modifiers = any_modes();
  } else if (!std::holds_alternative<Probe>(made.kind)) {
    made.modifiers = any_modifiers();
  }
  return made;
}

RC_GTEST_PROP(SpellingTest, ParsesToTheSameEventsInALongerList, ()) {
  ParsedEvents list{{any_event(), any_event(), any_event()}, *rc::gen::arbitrary<bool>()};
  const std::string text = spelled(list);
  RC_LOG() << text;

  const auto parsed = parse_events(text);

  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == list);
}

// Strings that nobody would write

using Random = std::mt19937;

std::size_t below(std::size_t end, Random& random) { return random() % end; }

char any_character(Random& random) {
  constexpr std::string_view kTelling = "{}:/,=*?[]'+-._ rukhHGIpPDWe0x19\t\n";
  return below(4, random) == 0 ? static_cast<char>(below(256, random))
                               : kTelling[below(kTelling.size(), random)];
}

std::string any_text(Random& random) {
  std::string text(below(24, random), ' ');
  for (char& c : text) c = any_character(random);
  return text;
}

const char* any_spelling(Random& random) {
  return spelled_events()[below(spelled_events().size(), random)].text;
}

void mutate(std::string& text, Random& random) {
  const std::size_t at = below(text.size() + 1, random);
  switch (below(6, random)) {
    case 0:
      text.insert(at, 1, any_character(random));
      break;
    case 1:
      text.erase(at, 1 + below(3, random));
      break;
    case 2:
      text.insert(at, text.substr(at, below(8, random)));
      break;
    case 3:
      text.insert(at, any_spelling(random));
      break;
    case 4:
      text = "{" + text + "}:" + "ukhHGIpPDWe"[below(11, random)];
      break;
    default:
      text += std::string(",") + any_spelling(random);
      break;
  }
}

void expect_error_or_round_trip(const std::string& text) {
  const auto parsed = parse_events(text);
  if (!parsed) {
    EXPECT_LE(parsed.error().at.characters, text.size()) << ::testing::PrintToString(text);
    EXPECT_FALSE(parsed.error().what.empty()) << ::testing::PrintToString(text);
    EXPECT_FALSE(parsed.error().remedy.empty()) << ::testing::PrintToString(text);
    return;
  }
  for (const ParsedEvent& one : parsed->events) {
    const auto again = parse_events(spelling(one));

    ASSERT_TRUE(again) << text << ": " << spelling(one) << ": " << again.error().what;
    EXPECT_TRUE(*again == (ParsedEvents{{one}, false})) << text << ": " << spelling(one);
  }
}

TEST(ParseEventsTest, SurvivesStrangeTexts) {
  test::run_rounds(10'000, [](unsigned round) {
    Random random(20260901 + round);
    std::string text = round % 4 == 0 ? any_text(random) : any_spelling(random);
    for (std::size_t changes = below(4, random); changes > 0; --changes) mutate(text, random);
    expect_error_or_round_trip(text);
  });
}

}  // namespace
}  // namespace pex::events
