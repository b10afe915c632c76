#include "daemon/commands/health.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <variant>

#include "http/listener.h"
#include "support/few_descriptors.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

Options asked_with(std::vector<const char*> words) {
  words.insert(words.begin(), {"perf_event_exporter", "health"});
  return std::get<Options>(parse_command_line(static_cast<int>(words.size()), words.data()));
}

const Words kFirst = {"/usr/bin/perf_event_exporter", "--web.listen-address=127.0.0.1:9",
                      "--web.config.file", "/web.yaml"};

/// The address that is asked if these words are given while these other processes run.
std::string address_for(const std::vector<const char*>& words, const std::vector<Words>& others) {
  return health_target(asked_with(words), others).listen_addresses.front();
}

TEST(HealthTest, WithoutAnAddressTheExporterOfTheContainerIsAsked) {
  EXPECT_EQ(address_for({}, {kFirst}), "127.0.0.1:9");
  EXPECT_EQ(health_target(asked_with({}), {kFirst}).web_config_file, "/web.yaml");
}

TEST(HealthTest, WhatTheCommandLineSetsComesFirst) {
  const Options by_address = health_target(asked_with({"--web.listen-address=:1"}), {kFirst});
  const Options by_file = health_target(asked_with({"--web.config.file=/other.yaml"}), {kFirst});

  EXPECT_EQ(by_address.listen_addresses, Words{":1"});
  EXPECT_EQ(by_address.web_config_file, "");
  EXPECT_EQ(by_file.listen_addresses, Words{":10173"});
  EXPECT_EQ(by_file.web_config_file, "/other.yaml");
}

TEST(HealthTest, TheAddressForProbesIsThatOfTheExporterUnlessItIsSet) {
  const Words first = {"/usr/bin/perf_event_exporter", "--web.config.file=/web.yaml",
                       "--web.health-address=127.0.0.1:8"};

  EXPECT_EQ(health_target(asked_with({}), {first}).health_address, "127.0.0.1:8");
  EXPECT_EQ(health_target(asked_with({"--web.health-address=:7"}), {first}).health_address, ":7");
}

TEST(HealthTest, TheOneProcessThatServesIsAsked) {
  const Words doctor = {"perf_event_exporter", "doctor"};
  const Words by_systemd = {"perf_event_exporter", "--web.systemd-socket"};
  const Words other = {"perf_event_exporter", "--web.listen-address=:1"};

  EXPECT_EQ(address_for({}, {doctor, by_systemd, kFirst}), "127.0.0.1:9");
  EXPECT_EQ(address_for({}, {by_systemd}), ":10173");
  EXPECT_EQ(address_for({}, {kFirst, other}), ":10173");
  EXPECT_EQ(address_for({}, {}), ":10173");
}

/// What `health` says on stderr about an address, with so many descriptors to spare.
std::string complaint_about(const std::string& address, rlim_t spare = 100) {
  const std::string option = "--web.listen-address=" + address;
  const Options asked = asked_with({option.c_str()});
  const Printed printed = printed_by([&] {
    const test::FewDescriptors few{spare};
    return check_health(asked);
  });
  EXPECT_EQ(printed.status, kFailed);
  EXPECT_EQ(printed.out, "");
  return printed.err;
}

/// Another program, which gives each of its clients the same answer.
class OtherServer {
 public:
  explicit OtherServer(std::string answer)
      : thread_([this, answer = std::move(answer)] {
          const UniqueFd client{::accept(listener_.fd.get(), nullptr, nullptr)};
          char request[4096];
          (void)::recv(client.get(), request, sizeof request, 0);
          (void)::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        }) {}
  ~OtherServer() { thread_.join(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(listener_.port); }

 private:
  static http::ListeningSocket listener() {
    http::ListeningSocket made = std::move(*http::open_listener("127.0.0.1:0"));
    ::fcntl(made.fd.get(), F_SETFL, 0);  // accept(2) waits
    return made;
  }

  http::ListeningSocket listener_ = listener();
  std::thread thread_;
};

TEST(HealthTest, NamesTheAddressAndTheStatusOfAnotherProgram) {
  const OtherServer other{"HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\n\r\n"};

  EXPECT_EQ(complaint_about(other.address()),
            "perf_event_exporter: ask " + other.address() +
                " for /-/healthy: the answer has status 301, and not 200 or 503. "
                "Remedy: check that no other program has this address; set the same "
                "--web.listen-address and --web.config.file as the exporter was started "
                "with\n");
}

TEST(HealthTest, IsNotThatOfAnotherProgram) {
  const OtherServer other{"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"};

  EXPECT_THAT(complaint_about(other.address()),
              HasSubstr("the answer is 'hello', and not 'healthy'. Remedy: check that no other"));
}

TEST(HealthTest, PrintsWhyTheExporterIsNotHealthy) {
  const OtherServer unhealthy{
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\nit hangs\n"};
  const std::string option = "--web.listen-address=" + unhealthy.address();

  const Printed printed = printed_by([&] { return check_health(asked_with({option.c_str()})); });

  EXPECT_EQ(printed.status, kFailed);
  EXPECT_EQ(printed.out, "it hangs\n");
}

TEST(HealthTest, AdvisesToStartTheExporterOnlyWhereNothingListens) {
  EXPECT_THAT(complaint_about("unix:/no/such/socket"), HasSubstr("ENOENT). Remedy: start it"));
  const OtherServer other{"220 mail.example ESMTP\r\n"};
  EXPECT_THAT(
      complaint_about(other.address()),
      AllOf(HasSubstr("Remedy: set the same --web.listen-address"), Not(HasSubstr("start it"))));
  constexpr rlim_t kThoseOfAsio = 3;
  EXPECT_THAT(complaint_about("unix:/no/such/socket", kThoseOfAsio),
              AllOf(HasSubstr("EMFILE). Remedy: raise the limit of open files of this command"),
                    Not(HasSubstr("start it"))));
}

TEST(HealthTest, FailsWhereOnlySystemdKnowsTheAddress) {
  const Printed printed =
      printed_by([] { return check_health(asked_with({"--web.systemd-socket"})); });

  EXPECT_EQ(printed.status, kFailed);
  EXPECT_THAT(printed.err, HasSubstr("--web.listen-address"));
}

}  // namespace
}  // namespace pex::daemon
