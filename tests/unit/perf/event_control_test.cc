#include "perf/event_control.h"

#include <gtest/gtest.h>

#include <iostream>

#include "support/scripted_kernel.h"

namespace pex::perf {
namespace {

TEST(EventControlTest, HasAnEntryForEachOperation) {
  ASSERT_EQ(event_controls().size(), 12U);
  const auto last = static_cast<std::size_t>(EventControl::kModifyAttributes);
  EXPECT_EQ(event_controls()[last].name, "PERF_EVENT_IOC_MODIFY_ATTRIBUTES");
  EXPECT_EQ(last + 1, event_controls().size());
}

TEST(EventControlExample, IsRight) {
  test::ScriptedKernel kernel;
  EventAttr attr;
  const Result<OpenCounter> event = kernel.open_event(attr, {.pid = 0});

  const Result<> stopped = kernel.control(event->fd.get(), EventControl::kDisable, 0);
  if (!stopped) std::cerr << describe(stopped.error()) << '\n';

  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace pex::perf
