#include "targets/poll_report.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace pex::collect {
namespace {

Error refusal_on(int cpu) {
  return {EMFILE, "open event 'cycles' on CPU " + std::to_string(cpu), "raise LimitNOFILE="};
}

TEST(PollReportTest, KeepsTheFirstFailureOfEachCauseAndCountsTheRest) {
  PollReport report;

  report.add_failure("cycles", refusal_on(0));
  report.add_failure("cycles", refusal_on(1));
  report.add_failure("cycles", Error{EACCES, "open event 'cycles' on CPU 1", {}});

  ASSERT_EQ(report.failures.size(), 2U);
  const PollReport::Failure& too_many_files = report.failures.at({"cycles", EMFILE});
  EXPECT_EQ(too_many_files.times, 2U);
  EXPECT_EQ(too_many_files.first, refusal_on(0));
}

/// Calls `visit` with the name of each number that is added up, and the number.
template <typename Visit>
void for_each_number(PollReport& report, const Visit& visit) {
  visit("opened", report.groups_opened);
  visit("closed", report.groups_closed);
  visit("read", report.groups_read);
  visit("off PMU", report.now.groups_off_pmu);
  visit("open events", report.now.open_events);
  visit("rotated", report.now.targets_rotated_manually);
  visit("by records", report.now.cpus_by_records);
  visit("by descriptors", report.now.cpus_by_descriptors);
  visit("unnamed", report.now.unnamed_cgroups);
  PollReport::GroupErrors& errors = report.of_group("core");
  visit("anomalies", errors.anomalies);
  visit("mistimed", errors.mistimed);
  visit("pinned errors", errors.pinned_errors);
  visit("read failures", errors.read_failures);
  visit("standstills", errors.standstills);
  visit("refusals", report.refusals[{"cycles", EMFILE}]);
  visit("left out", report.cgroups_left_out["max"]);
  visit("missed", report.cgroups_missed);
  visit("written", report.switch_records.written);
  visit("lost", report.switch_records.lost);
  visit("skipped", report.switch_records.skipped);
  visit("equal", report.record_checks.equal);
  visit("different", report.record_checks.different);
  visit("inconclusive", report.record_checks.inconclusive);
}

TEST(PollReportTest, OfAllCpusAddsTheirPartsUp) {
  PollReport part;
  std::size_t next = 1;
  for_each_number(part, [&](const char*, auto& number) { number = next++; });
  part.now.cpus_without_records = {12};
  part.waited_for_cpu = std::chrono::nanoseconds{30};
  part.unnamed_time = std::chrono::nanoseconds{20};
  part.add_failure("cycles", refusal_on(1));
  part.add_failure("cycles", refusal_on(1));
  part.add_failure("read core", Error{EIO, "read group 'core' on CPU 1", {}});
  PollReport all;
  all.now.duration = std::chrono::nanoseconds{5};
  all.add_failure("cycles", refusal_on(0));

  all.merge(part);
  all.merge(part);

  next = 1;
  for_each_number(all,
                  [&](const char* name, auto number) { EXPECT_EQ(number, 2 * next++) << name; });
  EXPECT_EQ(all.now.duration.count(), 5);
  EXPECT_EQ(all.now.cpus_without_records, (std::vector{12, 12}));
  EXPECT_EQ(all.failures.at({"cycles", EMFILE}).times, 5U);
  EXPECT_EQ(all.failures.at({"cycles", EMFILE}).first, refusal_on(0));
  EXPECT_EQ(all.failures.at({"read core", EIO}).times, 2U);
  EXPECT_EQ(all.unnamed_time.count(), 40);
  EXPECT_EQ(all.waited_for_cpu.count(), 60);
}

TEST(PollFeedbackTest, OfAllCpusHasEachCgroupOnce) {
  PollFeedback all;
  PollFeedback part;
  part.unopened = {10};
  part.exhausted["/a"] = EMFILE;

  all.merge(part);
  all.merge(part);

  EXPECT_EQ(all.unopened.size(), 1U);  // the same cgroup, whichever CPU lacked it
  EXPECT_EQ(all.exhausted.at("/a"), EMFILE);
}

}  // namespace
}  // namespace pex::collect
