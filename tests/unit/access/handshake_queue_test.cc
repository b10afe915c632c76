#include "access/handshake_queue.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "support/test_headers.h"

namespace pex::access {
namespace {

using ::testing::ElementsAre;

class HandshakeQueueTest : public testing::Test {
 protected:
  static Peer peer(std::uint32_t host) { return Peer{boost::asio::ip::address_v4{host}}; }

  void ask(const char* client, bool is_there = true, std::uint32_t host = 1) {
    turns_->ask(peer(host), [this, client, is_there] {
      if (is_there) seen_.emplace_back(client);
      return is_there;
    });
  }

  /// Is ready again in every turn of the loop, `times` in all.
  void work(int times) {
    boost::asio::post(loop_, [this, times] {
      seen_.emplace_back("work");
      if (times > 1) work(times - 1);
    });
  }

  boost::asio::io_context loop_;
  std::shared_ptr<HandshakeQueue> turns_ = std::make_shared<HandshakeQueue>(loop_.get_executor());
  std::vector<std::string> seen_;
};

TEST_F(HandshakeQueueTest, LetsOtherWorkRunBetweenTwo) {
  for (const char* const client : {"a", "b", "c"}) ask(client);
  work(2);

  loop_.run();

  EXPECT_THAT(seen_, ElementsAre("a", "work", "b", "work", "c"));
}

TEST_F(HandshakeQueueTest, SkipsClientsThatHaveLeft) {
  ask("gone", false);
  ask("a");
  work(1);

  loop_.run();

  EXPECT_THAT(seen_, ElementsAre("a", "work"));
}

TEST_F(HandshakeQueueTest, ServesPeersRoundRobinHoweverManyClientsOneHas) {
  for (const char* const client : {"a", "b", "c"}) ask(client, true, 1);
  ask("other", true, 2);
  ask("third", true, 3);

  loop_.run();

  EXPECT_THAT(seen_, ElementsAre("a", "other", "third", "b", "c"));
}

}  // namespace
}  // namespace pex::access
