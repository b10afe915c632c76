#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "http/server.h"
#include "support/temp_tree.h"
#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"

namespace pex::http {
namespace {

using test::TempTree;

/// A server that nobody runs: what is looked at is whether it listens.
struct Listened {
  explicit Listened(const Listening& listening)
      : server(Server::listen(loop, worker, listening, Site{})) {}
  explicit Listened(const std::string& address) : Listened(Listening{{address}, {}}) {}

  explicit operator bool() const { return static_cast<bool>(server); }
  std::uint16_t port() const { return (*server)->ports().front(); }
  /// What an operator reads; "none" when it listens.
  std::string complaint() const { return server ? "none" : describe(server.error()); }

  boost::asio::io_context loop;
  boost::asio::thread_pool worker{1};
  Result<std::unique_ptr<Server>> server;
};

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool has_ipv6() { return static_cast<bool>(Listened{"[::1]:0"}); }

TEST_F(ServerTest, ServesBothFamiliesWhereNoHostIsGiven) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6: dual stack is NOT tested";
  start({}, {{":0"}, {}});

  RawClient v4{server_->ports().front(), "127.0.0.1"};
  RawClient v6{server_->ports().front(), "::1"};

  EXPECT_EQ(v4.get("/hello").status, 200u);
  EXPECT_EQ(v6.get("/hello").status, 200u);
}

TEST_F(ServerTest, ServesANameAtItsIpv4Address) {
  if (!Listened{"localhost:0"}) GTEST_SKIP() << "this machine has no localhost: names NOT tested";
  start({}, {{"localhost:0"}, {}});

  EXPECT_EQ(RawClient{port()}.get("/hello").status, 200u);
}

TEST_F(ServerTest, ServesAnIpv6AddressAlone) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6: [::1] is NOT tested";
  start({}, {{"[::1]:0"}, {}});
  const std::uint16_t port = server_->ports().front();

  EXPECT_EQ((RawClient{port, "::1"}.get("/hello").status), 200u);
  EXPECT_FALSE((RawClient{port, "127.0.0.1"}.is_connected()));
}

std::string complaint_about(const std::string& address) { return Listened{address}.complaint(); }

TEST(ListenTest, NamesThePortThatAnotherProgramHas) {
  const Listened first{"127.0.0.1:0"};
  ASSERT_TRUE(first);
  const std::string address = "127.0.0.1:" + std::to_string(first.port());

  EXPECT_EQ(complaint_about(address),
            "listen on " + address +
                ": Address already in use (EADDRINUSE). Remedy: another program has this port: "
                "choose another with the listen address");
}

TEST(ListenTest, NamesTheAddressThatThisMachineDoesNotHave) {
  EXPECT_EQ(
      complaint_about("192.0.2.1:0"),
      "listen on 192.0.2.1:0: Cannot assign requested address (EADDRNOTAVAIL). Remedy: this "
      "machine does not have this address: choose one of its addresses with the listen address");
}

TEST(ListenTest, NamesTheCapabilityThatALowPortNeeds) {
  const uid_t usual = ::geteuid();
  if (usual == 0 && ::seteuid(65534) != 0) GTEST_SKIP() << "cannot give up root: NOT tested";
  const std::string complaint = complaint_about("127.0.0.1:1");
  ASSERT_EQ(::seteuid(usual), 0);

  if (complaint == "none") GTEST_SKIP() << "low ports are free for all here: NOT tested";
  EXPECT_EQ(complaint,
            "listen on 127.0.0.1:1: Permission denied (EACCES). Remedy: ports below 1024 require "
            "CAP_NET_BIND_SERVICE: choose a higher one with the listen address");
}

TEST(ListenTest, RefusesNamesThatDoNotResolve) {
  // Of a label longer than DNS has, so that no server is asked.
  const std::string address = std::string(64, 'a') + ".invalid:80";
  const std::string complaint = complaint_about(address);

  EXPECT_TRUE(complaint.starts_with("listen on " + address + ": ")) << complaint;
  EXPECT_TRUE(complaint.ends_with("in the listen address")) << complaint;
}

TEST(ListenTest, RefusesBadSpellings) {
  for (const std::string spelling : {"",
                                     "10173",
                                     "localhost",
                                     ":",
                                     "localhost:",
                                     "localhost:http",
                                     ":65536",
                                     ":-1",
                                     ":+1",
                                     ": 80",
                                     ":80 ",
                                     "::1:80",
                                     "[::1]",
                                     "[::1]80",
                                     "[::1:80",
                                     "::1]:80",
                                     "[]:80",
                                     "[localhost]:80",
                                     "a:b:80",
                                     "[1.2.3.4]:80",
                                     "local host:80",
                                     "http://localhost:80",
                                     "localhost/:80",
                                     "99999999999999999999:1:1"}) {
    EXPECT_EQ(complaint_about(spelling), "'" + spelling +
                                             "' is not a listen address. Remedy: write host:port, "
                                             ":port, [IPv6]:port or unix:/path in "
                                             "the listen address, for example 127.0.0.1:10173");
  }
}

TEST(ListenTest, LeavesNothingOpenWhenOneOfSeveralFails) {
  TempTree tree;
  const std::string path = tree.path("socket");

  EXPECT_FALSE(Listened(Listening{{"unix:" + path, "nonsense"}, {}}));

  EXPECT_FALSE(is_there(path));
  EXPECT_TRUE(Listened{"unix:" + path});
}

TEST_F(ServerTest, ServesAUnixSocketAndRemovesItsFileAtTheEnd) {
  TempTree tree;
  const std::string path = tree.path("socket");
  start({}, {{"unix:" + path, "127.0.0.1:0"}, {}});

  EXPECT_EQ(RawClient{path}.get("/hello").status, 200u);
  EXPECT_EQ(server_->ports().front(), 0u);
  EXPECT_EQ(RawClient{server_->ports().back()}.get("/hello").status, 200u);
  on_loop([this] { server_->stop(); });

  EXPECT_FALSE(is_there(path));
}

/// A socket that has a file, and does not listen.
UniqueFd socket_in_file(const std::string& path) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

/// As a program leaves it behind that was killed.
TEST_F(ServerTest, ReplacesASocketFileWithoutAListener) {
  TempTree tree;
  (void)socket_in_file(tree.path("socket"));

  start({}, {{"unix:" + tree.path("socket")}, {}});

  EXPECT_EQ(RawClient{tree.path("socket")}.get("/hello").status, 200u);
}

TEST(ListenTest, LeavesASocketFileAloneThatIsNotItsOwnAnyMore) {
  TempTree tree;
  const std::string path = tree.path("socket");
  const Listened first{"unix:" + path};
  ASSERT_TRUE(first);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  const Listened second{"unix:" + path};
  ASSERT_TRUE(second);

  (*first.server)->stop();

  EXPECT_TRUE(is_there(path));
  EXPECT_TRUE(RawClient{path}.is_connected());
}

TEST(ListenTest, ReportsWhatIsInTheWayOfASocketFile) {
  TempTree tree{{"file", "precious"}, {"directory/"}};
  const Listened first{"unix:" + tree.path("socket")};
  ASSERT_TRUE(first);
  const std::string in_use = ": Address already in use (EADDRINUSE). Remedy: ";

  EXPECT_EQ(complaint_about("unix:" + tree.path("socket")),
            "listen on unix:" + tree.path("socket") + in_use +
                "another program listens there: set another path in the listen address");
  for (const char* const name : {"file", "directory"}) {
    EXPECT_EQ(complaint_about("unix:" + tree.path(name)),
              "listen on unix:" + tree.path(name) + in_use +
                  "a file that is not a socket exists: remove it, or set another path in "
                  "the listen address");
    EXPECT_TRUE(is_there(tree.path(name)));
  }
  EXPECT_TRUE(RawClient{tree.path("socket")}.is_connected());
}

TEST(ListenTest, RefusesPathsThatNoSocketCanHave) {
  TempTree tree;
  const std::string missing = "unix:" + tree.path("missing/socket");

  for (const std::string& path : {std::string{}, std::string{"relative"}, std::string{"@abstract"},
                                  "/" + std::string(107, 'a')}) {
    EXPECT_EQ(
        complaint_about("unix:" + path),
        "'unix:" + path +
            "' is not a listen address. Remedy: write unix: and an absolute path of at most 107 "
            "bytes in the listen address");
  }
  EXPECT_TRUE(complaint_about(missing).starts_with(
      "listen on " + missing + ": No such file or directory (ENOENT). Remedy: set a path"))
      << complaint_about(missing);
}

/// A socket as a service manager hands it over: blocking, and kept over an exec.
UniqueFd inherited_socket(int type, bool listens) {
  UniqueFd fd{::socket(AF_INET, type, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (listens) ::listen(fd.get(), 5);
  return fd;
}

TEST_F(ServerTest, ServesASocketThatWasHandedOver) {
  UniqueFd socket = inherited_socket(SOCK_STREAM, true);
  const int fd = socket.get();
  start({}, {{"127.0.0.1:0"}, {socket.release()}});

  ASSERT_EQ(server_->ports().size(), 2u);
  for (const std::uint16_t port : server_->ports()) {
    EXPECT_EQ(RawClient{port}.get("/hello").status, 200u);
  }
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(ServerTest, ServesAUnixSocketThatWasHandedOverAndLeavesItsFile) {
  TempTree tree;
  UniqueFd socket = socket_in_file(tree.path("socket"));
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  start({}, {{}, {socket.release()}});

  EXPECT_EQ(RawClient{tree.path("socket")}.get("/hello").status, 200u);
  EXPECT_EQ(port(), 0u);
  on_loop([this] { server_->stop(); });

  EXPECT_TRUE(is_there(tree.path("socket")));
}

TEST(ListenTest, RefusesWhatIsHandedOverAndDoesNotListen) {
  UniqueFd idle = inherited_socket(SOCK_STREAM, false);
  UniqueFd datagram = inherited_socket(SOCK_DGRAM, false);
  UniqueFd file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};

  for (UniqueFd* const each : {&idle, &datagram, &file}) {
    const int fd = each->release();
    EXPECT_EQ(Listened(Listening{{}, {fd}}).complaint(),
              "descriptor " + std::to_string(fd) +
                  " of the service manager is not a listening stream socket. Remedy: set "
                  "ListenStream= in the .socket unit to a port or a path, and Accept=no");
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "it was not closed";
  }
}

TEST_F(ServerTest, KnowsWhetherOtherMachinesMayReachIt) {
  TempTree tree;
  const auto is_open_to_others = [](const std::string& address) {
    const Listened listened{address};
    return listened && (*listened.server)->serves_other_machines();
  };

  EXPECT_TRUE(is_open_to_others(":0"));
  EXPECT_TRUE(is_open_to_others("0.0.0.0:0"));
  EXPECT_FALSE(is_open_to_others("127.0.0.1:0"));
  EXPECT_FALSE(is_open_to_others("127.0.0.53:0"));
  EXPECT_FALSE(is_open_to_others("localhost:0"));
  EXPECT_FALSE(is_open_to_others("unix:" + tree.path("socket")));
  if (has_ipv6()) {
    EXPECT_TRUE(is_open_to_others("[::]:0"));
    EXPECT_FALSE(is_open_to_others("[::1]:0"));
  }
  const Listened both{Listening{{"127.0.0.1:0", "0.0.0.0:0"}, {}}};
  EXPECT_TRUE((*both.server)->serves_other_machines());
}

}  // namespace
}  // namespace pex::http
