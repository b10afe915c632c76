#include "access/peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace pex::access {
namespace {

Peer v4(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, text, &address.sin_addr);
  sockaddr_storage any{};
  std::memcpy(&any, &address, sizeof address);
  return Peer::at(any);
}

Peer v6(const char* text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  ::inet_pton(AF_INET6, text, &address.sin6_addr);
  sockaddr_storage any{};
  std::memcpy(&any, &address, sizeof address);
  return Peer::at(any);
}

Peer of_unix_socket() {
  sockaddr_storage any{};
  any.ss_family = AF_UNIX;
  return Peer::at(any);
}

TEST(PeerTest, IsOneIpv4AddressInWhicheverForm) {
  EXPECT_EQ(v4("192.0.2.7"), v4("192.0.2.7"));
  EXPECT_EQ(v6("::ffff:192.0.2.7"), v4("192.0.2.7"));
  EXPECT_NE(v4("192.0.2.8"), v4("192.0.2.7"));
  EXPECT_EQ(v4("192.0.2.7").text(), "192.0.2.7");
}

TEST(PeerTest, IsANetworkOf64BitsOfIpv6) {
  EXPECT_EQ(v6("2001:db8:0:1::1"), v6("2001:db8:0:1:ffff::2"));
  EXPECT_NE(v6("2001:db8:0:2::1"), v6("2001:db8:0:1::1"));
  EXPECT_EQ(v6("2001:db8:0:1::1").text(), "2001:db8:0:1::/64");
  EXPECT_NE(v6("::1"), v4("0.0.0.0"));
}

TEST(PeerTest, IsOneForAllClientsOfUnixSockets) {
  EXPECT_EQ(of_unix_socket(), of_unix_socket());
  EXPECT_NE(of_unix_socket(), v6("::1"));
  EXPECT_EQ(of_unix_socket().text(), "unix");
}

}  // namespace
}  // namespace pex::access
