#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

namespace pex::test {

/// While it lives, this process may not read what has mode 0; only root may.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    if (is_root_) become(65534);
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  ~OrdinaryUser() {
    if (is_root_) become(0);
  }

 private:
  static void become(uid_t user) { EXPECT_EQ(::seteuid(user), 0); }

  const bool is_root_ = ::geteuid() == 0;
};

}  // namespace pex::test
