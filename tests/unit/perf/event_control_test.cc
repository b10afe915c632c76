#include "perf/event_control.h"

#include <gtest/gtest.h>

#include <iostream>

#include "support/scripted_kernel.h"

namespace pex::perf {
namespace {

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
