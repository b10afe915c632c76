#include "access/peer.h"

#include <gtest/gtest.h>

namespace pex::access {
namespace {

Peer peer(const char* address) { return Peer{boost::asio::ip::make_address(address)}; }

TEST(PeerTest, IsOneIpv4AddressInWhicheverForm) {
  EXPECT_EQ(peer("192.0.2.7"), peer("192.0.2.7"));
  EXPECT_EQ(peer("::ffff:192.0.2.7"), peer("192.0.2.7"));
  EXPECT_NE(peer("192.0.2.8"), peer("192.0.2.7"));
  EXPECT_EQ(peer("192.0.2.7").text(), "192.0.2.7");
}

TEST(PeerTest, IsANetworkOf64BitsOfIpv6) {
  EXPECT_EQ(peer("2001:db8:0:1::1"), peer("2001:db8:0:1:ffff::2"));
  EXPECT_NE(peer("2001:db8:0:2::1"), peer("2001:db8:0:1::1"));
  EXPECT_EQ(peer("2001:db8:0:1::1").text(), "2001:db8:0:1::/64");
  EXPECT_NE(peer("::"), peer("0.0.0.0"));
}

TEST(PeerTest, IsTheSameNetworkOnWhicheverInterface) {
  EXPECT_EQ(peer("fe80::1%1"), peer("fe80::2%2"));
  EXPECT_EQ(peer("fe80::1%1").text(), "fe80::/64");
}

TEST(PeerTest, IsOneForAllLoopbackAddresses) {
  for (const char* address : {"127.1.2.3", "127.255.255.254", "::ffff:127.0.0.2", "::1"}) {
    EXPECT_EQ(peer(address), peer("127.0.0.1")) << address;
    EXPECT_EQ(peer(address).text(), "loopback");
    EXPECT_TRUE(is_loopback(boost::asio::ip::make_address(address)));
  }
  for (const char* address : {"126.255.255.255", "128.0.0.1", "::2", "::ffff:192.0.2.7"}) {
    EXPECT_NE(peer(address), peer("127.0.0.1")) << address;
    EXPECT_FALSE(is_loopback(boost::asio::ip::make_address(address)));
  }
}

TEST(PeerTest, IsOneForAllClientsOfUnixSockets) {
  EXPECT_EQ(Peer{}, Peer{});
  EXPECT_NE(Peer{}, peer("::1"));
  EXPECT_EQ(Peer{}.text(), "unix");
}

}  // namespace
}  // namespace pex::access
