#include "host/guest_pmu.h"

#include <gtest/gtest.h>

#include "support/few_descriptors.h"
#include "support/temp_tree.h"

namespace pex::host {
namespace {

TEST(GuestPmuTest, IsGivenToGuestsWhereTheModuleOfEitherVendorSaysSo) {
  for (const std::string module : {"kvm_intel", "kvm_amd"}) {
    test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"}};
    const HostRoots roots{.sysfs = tree.path("sys")};
    EXPECT_EQ(gives_pmu_to_guests(roots), false) << "neither is loaded";

    const std::string parameter = "sys/module/" + module + "/parameters/enable_mediated_pmu";
    tree.write(parameter, "N\n");
    EXPECT_EQ(gives_pmu_to_guests(roots), false) << module;
    tree.write(parameter, "Y\n");
    EXPECT_EQ(gives_pmu_to_guests(roots), true) << module;
  }
}

TEST(GuestPmuTest, IsNotGivenWhereTheParameterCannotBeRead) {
  test::TempTree tree{{"sys/module/kvm_amd/parameters/enable_mediated_pmu/file", "a directory\n"}};
  EXPECT_EQ(gives_pmu_to_guests({.sysfs = tree.path("sys")}), false);
}

TEST(GuestPmuTest, IsUnknownWhereNoDescriptorIsFree) {
  test::TempTree tree{{"sys/module/kvm_amd/parameters/enable_mediated_pmu", "Y\n"}};
  const test::FewDescriptors none{0};
  EXPECT_EQ(gives_pmu_to_guests({.sysfs = tree.path("sys")}), std::nullopt);
}

}  // namespace
}  // namespace pex::host
