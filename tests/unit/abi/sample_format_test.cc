#include "abi/record/sample_format.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

namespace pex::perf {
namespace {

TEST(SampleFormatExample, IsThatOfACgroupsSamples) {
  SampleFormat format;
  format.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
  format.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  format.sample_id_all = true;  // other records than samples have their time as well

  EXPECT_EQ(format.sample_type, 0x200014u);
  EXPECT_EQ(format, SampleFormat(format));
}

}  // namespace
}  // namespace pex::perf
