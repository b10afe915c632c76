#include "perf/event_control.h"

namespace pex::perf {
namespace {

constexpr std::string_view kInCounterControl = "perf/counter_control.h";

/// Sources: perf_event_open(2); the kernel's history of include/uapi/linux/perf_event.h.
constexpr AbiEntry kControlEntries[] = {
    {"PERF_EVENT_IOC_ENABLE", "2.6.31", "starts an event, or its group", kInCounterControl,
     "CounterControlTest.EnablesAndDisablesAnEvent"},
    {"PERF_EVENT_IOC_DISABLE", "2.6.31", "stops an event, or its group", kInCounterControl,
     "CounterControlTest.EnablesAndDisablesAnEvent"},
    {"PERF_EVENT_IOC_REFRESH", "2.6.31", "enables an event for so many overflows",
     kInCounterControl, "CounterControlTest.DisablesAnEventAfterTheOverflowsOfARefresh"},
    {"PERF_EVENT_IOC_RESET", "2.6.31", "sets a count to 0; its times go on", kInCounterControl,
     "CounterControlTest.ResetsTheCountAndNotTheTimes"},
    {"PERF_EVENT_IOC_PERIOD", "2.6.31", "changes the sampling period or frequency",
     kInCounterControl, "CounterControlTest.ChangesThePeriod"},
    {"PERF_EVENT_IOC_SET_OUTPUT", "2.6.32", "writes the records into the ring of another event",
     kInCounterControl, "CounterControlTest.WritesIntoTheRingOfAnotherEventAndThenNowhere"},
    {"PERF_EVENT_IOC_SET_FILTER", "2.6.33",
     "sets the filter of a tracepoint, or the address ranges of a tracing PMU", kInCounterControl,
     "CounterControlTest.FiltersATracepointOnce"},
    {"PERF_EVENT_IOC_ID", "3.12", "returns the id that samples and group reads contain",
     kInCounterControl, "CounterControlTest.ReadsTheIdThatTheEventWasOpenedWith"},
    {"PERF_EVENT_IOC_SET_BPF", "4.1", "attaches a BPF program to an event", kInCounterControl,
     "CounterControlTest.RunsABpfProgramInsteadOfWritingARecord"},
    {"PERF_EVENT_IOC_PAUSE_OUTPUT", "4.7", "stops and resumes the writing of records",
     kInCounterControl, "CounterControlTest.PausesAndResumesTheRing"},
    {"PERF_EVENT_IOC_QUERY_BPF", "4.16", "returns the ids of a tracepoint's BPF programs",
     kInCounterControl, "CounterControlTest.ListsTheBpfProgramsOfATracepoint"},
    {"PERF_EVENT_IOC_MODIFY_ATTRIBUTES", "4.17", "changes the address of a breakpoint",
     kInCounterControl, "CounterControlTest.MovesABreakpoint"},
};

}  // namespace

std::span<const AbiEntry> event_controls() { return kControlEntries; }

}  // namespace pex::perf
