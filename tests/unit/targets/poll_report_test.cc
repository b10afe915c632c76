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

TEST(PollReportTest, OfAllCpusAddsTheirPartsUp) {
  PollReport all;
  all.now.duration = std::chrono::nanoseconds{5};
  all.refusals[{"cycles", EMFILE}] = 1;
  all.add_failure("cycles", refusal_on(0));
  PollReport part;
  part.groups_opened = 1;
  part.groups_closed = 2;
  part.groups_read = 3;
  part.now.groups_off_pmu = 4;
  part.now.open_events = 5;
  part.now.targets_rotated_manually = 6;
  part.now.cpus_by_records = 10;
  part.now.cpus_by_descriptors = 11;
  part.now.cpus_without_records = {12};
  part.now.unnamed_cgroups = 13;
  part.errors["core"] = {1, 2, 3, 4, 5};
  part.refusals[{"cycles", EMFILE}] = 7;
  part.cgroups_left_out["max"] = 8;
  part.cgroups_missed = 9;
  part.switch_records = {14, 15, 16};
  part.record_checks = {17, 18, 19};
  part.waited_for_cpu = std::chrono::nanoseconds{30};
  part.unnamed_time = std::chrono::nanoseconds{20};
  part.add_failure("cycles", refusal_on(1));
  part.add_failure("cycles", refusal_on(1));
  part.add_failure("read core", Error{EIO, "read group 'core' on CPU 1", {}});

  all.merge(part);
  all.merge(part);

  EXPECT_EQ(all.now.duration.count(), 5);
  EXPECT_EQ(all.groups_opened, 2U);
  EXPECT_EQ(all.groups_closed, 4U);
  EXPECT_EQ(all.groups_read, 6U);
  EXPECT_EQ(all.now.groups_off_pmu, 8U);
  EXPECT_EQ(all.now.open_events, 10U);
  EXPECT_EQ(all.now.targets_rotated_manually, 12U);
  EXPECT_EQ(all.now.cpus_by_records, 20U);
  EXPECT_EQ(all.now.cpus_by_descriptors, 22U);
  EXPECT_EQ(all.now.cpus_without_records, (std::vector{12, 12}));
  EXPECT_EQ(all.now.unnamed_cgroups, 26U);
  EXPECT_EQ(all.errors.at("core").anomalies, 2U);
  EXPECT_EQ(all.errors.at("core").mistimed, 4U);
  EXPECT_EQ(all.errors.at("core").pinned_errors, 6U);
  EXPECT_EQ(all.errors.at("core").read_failures, 8U);
  EXPECT_EQ(all.errors.at("core").standstills, 10U);
  EXPECT_EQ(all.refusals.at({"cycles", EMFILE}), 15U);
  EXPECT_EQ(all.failures.at({"cycles", EMFILE}).times, 5U);
  EXPECT_EQ(all.failures.at({"cycles", EMFILE}).first, refusal_on(0));
  EXPECT_EQ(all.failures.at({"read core", EIO}).times, 2U);
  EXPECT_EQ(all.cgroups_left_out.at("max"), 16U);
  EXPECT_EQ(all.cgroups_missed, 18U);
  EXPECT_EQ(all.switch_records.written, 28U);
  EXPECT_EQ(all.switch_records.lost, 30U);
  EXPECT_EQ(all.switch_records.skipped, 32U);
  EXPECT_EQ(all.record_checks.equal, 34U);
  EXPECT_EQ(all.record_checks.different, 36U);
  EXPECT_EQ(all.record_checks.inconclusive, 38U);
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
