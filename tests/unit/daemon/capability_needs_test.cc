#include "daemon/service/capability_needs.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

#include <string>

#include "config/load.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using test::TempTree;

constexpr std::uint64_t bit(unsigned capability) { return std::uint64_t{1} << capability; }

config::Config counting(const std::string& event) {
  const std::string text = "groups:\n  - {name: one, events: ['" + event + "'], scope: cpu}\n";
  return config::load_text(text, "test.yaml").config;
}

Options on_machine(TempTree& tree, const std::string& paranoid) {
  tree.write("proc/sys/kernel/perf_event_paranoid", paranoid + "\n");
  Options options;
  options.roots.procfs = tree.path("proc");
  return options;
}

constexpr std::uint64_t kAllCapabilities = ~std::uint64_t{0};

TEST(CapabilityNeeds, RootKeepsWhatCountsAndReadsAndNothingElse) {
  EXPECT_EQ(capabilities_kept({.is_root = true, .permitted = kAllCapabilities}),
            bit(CAP_PERFMON) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_IPC_LOCK));
}

TEST(CapabilityNeeds, RootOfAContainerKeepsWhatStandsInForWhatItWasNotGranted) {
  const std::uint64_t docker = bit(CAP_DAC_OVERRIDE) | bit(CAP_SYS_ADMIN) | bit(CAP_CHOWN);
  EXPECT_EQ(capabilities_kept({.is_root = true, .permitted = docker}) & docker,
            bit(CAP_DAC_OVERRIDE) | bit(CAP_SYS_ADMIN));
}

TEST(CapabilityNeeds, RootKeepsSysAdminWhereTheKernelAsksForIt) {
  const std::uint64_t kept =
      capabilities_kept({.is_root = true, .counts_as_admin = true, .permitted = kAllCapabilities});
  EXPECT_EQ(kept & bit(CAP_SYS_ADMIN), bit(CAP_SYS_ADMIN));
}

TEST(CapabilityNeeds, WhatAnotherUserWasGrantedToCountIsKept) {
  const std::uint64_t kept = capabilities_kept({.is_root = false, .permitted = kAllCapabilities});
  EXPECT_EQ(kept,
            bit(CAP_PERFMON) | bit(CAP_SYS_ADMIN) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_IPC_LOCK));
}

TEST(CapabilityNeeds, DoctorLooksAtTheProcessesOfOthers) {
  TempTree tree;
  Options options = on_machine(tree, "2");
  EXPECT_FALSE(capability_needs(options).looks_at_processes);
  options.doctor = true;
  const CapabilityNeeds needs = capability_needs(options);
  EXPECT_EQ(capabilities_kept(needs) & bit(CAP_SYS_PTRACE), bit(CAP_SYS_PTRACE));
}

TEST(CapabilityNeeds, ListeningKeepsWhatItsKindOfAddressTakes) {
  TempTree tree;
  Options options = on_machine(tree, "2");
  options.listen_addresses = {":80"};
  EXPECT_TRUE(capability_needs(options).listens_on_ports);
  EXPECT_FALSE(capability_needs(options).makes_socket_files);
  options.listen_addresses = {"unix:/run/exporter.sock"};
  EXPECT_FALSE(capability_needs(options).listens_on_ports);
  EXPECT_TRUE(capability_needs(options).makes_socket_files);
  options.health_address = ":80";
  EXPECT_TRUE(capability_needs(options).listens_on_ports);
  EXPECT_TRUE(capability_needs(options).makes_socket_files);
  options.listen_addresses = {":80"};
  options.health_address = "unix:/run/health.sock";
  EXPECT_TRUE(capability_needs(options).listens_on_ports);
  EXPECT_TRUE(capability_needs(options).makes_socket_files);
  options.listen_addresses = {};
  options.health_address = {};
  EXPECT_FALSE(capability_needs(options).listens_on_ports);
  EXPECT_EQ(capabilities_kept(
                {.is_root = true, .listens_on_ports = true, .permitted = kAllCapabilities}) &
                (bit(CAP_NET_BIND_SERVICE) | bit(CAP_DAC_OVERRIDE)),
            bit(CAP_NET_BIND_SERVICE));
  EXPECT_EQ(capabilities_kept(
                {.is_root = true, .makes_socket_files = true, .permitted = kAllCapabilities}) &
                (bit(CAP_NET_BIND_SERVICE) | bit(CAP_DAC_OVERRIDE)),
            bit(CAP_DAC_OVERRIDE));
}

TEST(CapabilityNeeds, ProbesInProgramsAndAddressesOfTheKernelTakeSysAdmin) {
  EXPECT_TRUE(needs_admin(counting("uprobe:/usr/bin/program:main")));
  EXPECT_TRUE(needs_admin(counting("uretprobe:/usr/bin/program:0x40")));
  EXPECT_TRUE(needs_admin(counting("mem:0xffffffff81000000:x")));
  EXPECT_TRUE(needs_admin(counting("{page-faults,uprobe:/usr/bin/program:main}")));
  for (const char* event : {"cycles", "mem:0x7f0000001000:rw", "kprobe:do_sys_open",
                            "sched:sched_switch", "msr/aperf/"}) {
    EXPECT_FALSE(needs_admin(counting(event))) << event;
  }
}

TEST(CapabilityNeeds, ALevelThatOnlySomeDistributionsHaveTakesSysAdmin) {
  TempTree tree;
  EXPECT_FALSE(capability_needs(on_machine(tree, "2")).counts_as_admin);
  EXPECT_TRUE(capability_needs(on_machine(tree, "3")).counts_as_admin);
}

}  // namespace
}  // namespace pex::daemon
