#include "host/guest_pmu.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace pex::host {
namespace {

TEST(GuestPmuTest, IsGivenToGuestsWhereTheModuleOfEitherVendorSaysSo) {
  for (const std::string module : {"kvm_intel", "kvm_amd"}) {
    test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"}};
    const HostRoots roots{.sysfs = tree.path("sys")};
    EXPECT_FALSE(gives_pmu_to_guests(roots)) << "neither is loaded";

    const std::string parameter = "sys/module/" + module + "/parameters/enable_mediated_pmu";
    tree.write(parameter, "N\n");
    EXPECT_FALSE(gives_pmu_to_guests(roots)) << module;
    tree.write(parameter, "Y\n");
    EXPECT_TRUE(gives_pmu_to_guests(roots)) << module;
  }
}

}  // namespace
}  // namespace pex::host
