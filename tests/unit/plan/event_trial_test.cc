#include "plan/event_trial.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/result.h"

namespace pex::plan {
namespace {

TEST(IsLastingTest, IsFalseOfShortagesAndOfWhatComesBack) {
  for (const int code : {EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, EBUSY, ENOSPC, ENODEV, ESRCH}) {
    EXPECT_FALSE(is_lasting(code)) << errno_name(code);
  }
}

TEST(IsLastingTest, IsTrueOfAllOtherErrors) {
  for (const int code : {ENOENT, EOPNOTSUPP, EINVAL, EACCES, EPERM, ENOSYS, E2BIG, ENODATA,
                         EADDRNOTAVAIL, EILSEQ, ENOEXEC, EIO, ENXIO, kErrnoNotSupported}) {
    EXPECT_TRUE(is_lasting(code)) << errno_name(code);
  }
}

}  // namespace
}  // namespace pex::plan
