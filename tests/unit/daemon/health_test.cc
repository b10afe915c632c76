#include "daemon/commands/health.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace pex::daemon {
namespace {

using Words = std::vector<std::string>;

Options asked_with(std::vector<const char*> words) {
  words.insert(words.begin(), {"perf_event_exporter", "health"});
  return std::get<Options>(parse_command_line(static_cast<int>(words.size()), words.data()));
}

const Words kFirst = {"/usr/bin/perf_event_exporter", "--web.listen-address=127.0.0.1:9",
                      "--web.config.file", "/web.yaml"};

TEST(HealthTest, WithoutAnAddressTheFirstProcessOfTheContainerIsAsked) {
  const Options target = health_target(asked_with({}), kFirst);

  EXPECT_EQ(target.listen_addresses, Words{"127.0.0.1:9"});
  EXPECT_EQ(target.web_config_file, "/web.yaml");
}

TEST(HealthTest, WhatTheCommandLineSetsComesFirst) {
  const Options by_address = health_target(asked_with({"--web.listen-address=:1"}), kFirst);
  const Options by_file = health_target(asked_with({"--web.config.file=/other.yaml"}), kFirst);

  EXPECT_EQ(by_address.listen_addresses, Words{":1"});
  EXPECT_EQ(by_address.web_config_file, "");
  EXPECT_EQ(by_file.listen_addresses, Words{":10173"});
  EXPECT_EQ(by_file.web_config_file, "/other.yaml");
}

TEST(HealthTest, TheAddressForProbesIsThatOfTheFirstProcessUnlessItIsSet) {
  const Words first = {"/usr/bin/perf_event_exporter", "--web.config.file=/web.yaml",
                       "--web.health-address=127.0.0.1:8"};

  EXPECT_EQ(health_target(asked_with({}), first).health_address, "127.0.0.1:8");
  EXPECT_EQ(health_target(asked_with({"--web.health-address=:7"}), first).health_address, ":7");
}

TEST(HealthTest, AnotherProgramAsFirstProcessReportsNothing) {
  for (const Words& first : {Words{}, Words{"/sbin/init", "--web.listen-address=:1"},
                             Words{"not_perf_event_exporter", "--web.listen-address=:1"}}) {
    EXPECT_EQ(health_target(asked_with({}), first).listen_addresses, Words{":10173"});
  }
}

TEST(HealthTest, FailsWithoutAnAnswer) {
  testing::internal::CaptureStderr();
  const ExitStatus status = check_health(asked_with({"--web.listen-address=unix:/no/such/socket"}));
  const std::string said = testing::internal::GetCapturedStderr();

  EXPECT_EQ(status, kFailed);
  EXPECT_NE(said.find("Remedy: "), std::string::npos) << said;
}

TEST(HealthTest, FailsWhereOnlySystemdKnowsTheAddress) {
  testing::internal::CaptureStderr();
  const ExitStatus status = check_health(asked_with({"--web.systemd-socket"}));
  const std::string said = testing::internal::GetCapturedStderr();

  EXPECT_EQ(status, kFailed);
  EXPECT_NE(said.find("--web.listen-address"), std::string::npos) << said;
}

}  // namespace
}  // namespace pex::daemon
