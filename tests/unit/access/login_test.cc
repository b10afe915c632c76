#include "access/login.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <string_view>

#include "support/patience.h"
#include "support/test_headers.h"

namespace pex::access {
namespace {

using std::chrono::seconds;
using Verdict = Logins::Verdict;

// Of cost 4, the least there is.
constexpr const char* kSecret = "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
constexpr const char* kSwordfish = "$2b$04$ABCDEFGHIJKLMNOPQRSTUuWe5mm6jjKoXct8KlGVbJ.sX.LJLueOK";

const Logins::Users& users() {
  static const Logins::Users both{{"alice", kSecret}, {"bob", kSwordfish}};
  return both;
}

/// "user:password", or "none".
std::string parsed(std::string_view authorization) {
  const auto credentials = parse_credentials(authorization);
  return credentials ? credentials->user + ":" + credentials->password : "none";
}

TEST(CredentialsTest, AreReadFromTheBasicScheme) {
  EXPECT_EQ(parsed("Basic YWxpY2U6c2VjcmV0"), "alice:secret");
  EXPECT_EQ(parsed("bASIC   YWxpY2U6c2VjcmV0 "), "alice:secret");
  EXPECT_EQ(parsed("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), "Aladdin:open sesame");
  EXPECT_EQ(parsed("Basic YTpiOmM="), "a:b:c");
  EXPECT_EQ(parsed("Basic Og=="), ":");
  EXPECT_EQ(parsed("Basic YTr7/w=="), "a:\xfb\xff");
}

TEST(CredentialsTest, AreNothingInAnyOtherSpelling) {
  const char* const others[] = {
      "",
      "Basic",
      "Basic ",
      "BasicYWxpY2U6c2VjcmV0",
      "Bearer YWxpY2U6c2VjcmV0",
      "Digest username=\"alice\"",
      "Basic YWxpY2U=",           // no colon
      "Basic YTpiOmM",            // no padding
      "Basic YTpiOmM==",          // too much of it
      "Basic YTpi====",           // nothing but it
      "Basic YTpiOmN=",           // bits that no byte has
      "Basic YWxp Y2U6c2VjcmV0",  // a blank
      "Basic YWxpY2U6c2VjcmV\x80",
      "Basic YTr7_w==",  // the alphabet for URLs
      "Basic =TpiOmM=",
      "Basic YWxpY2U6c2VjcmV0, Basic YWxpY2U6c2VjcmV0",  // two fields
  };
  for (const char* const each : others) EXPECT_EQ(parsed(each), "none") << each;
}

VerdictCache::Digest digest_of(unsigned char first, unsigned char second) {
  VerdictCache::Digest digest{};
  digest[0] = first;
  digest[31] = second;
  return digest;
}

TEST(VerdictCacheTest, KeepsAHundredOfEachKindAndForgetsTheOldest) {
  VerdictCache cache;
  cache.add(digest_of(0, 0), true);
  for (unsigned char i = 0; i < 101; ++i) cache.add(digest_of(1, i), false);

  EXPECT_EQ(cache.find(digest_of(0, 0)), true);
  EXPECT_EQ(cache.find(digest_of(1, 0)), std::nullopt);
  for (unsigned char i = 1; i < 101; ++i) EXPECT_EQ(cache.find(digest_of(1, i)), false);

  for (unsigned char i = 0; i < 100; ++i) cache.add(digest_of(2, i), true);
  EXPECT_EQ(cache.find(digest_of(0, 0)), std::nullopt);
  EXPECT_EQ(cache.find(digest_of(1, 1)), false);
}

/// Logins over a loop that runs when the test says so.
class LoginsTest : public testing::Test {
 protected:
  using Answer = std::shared_ptr<std::optional<Verdict>>;

  ~LoginsTest() override {
    worker_.join();
    loop_.poll();
  }

  Answer check(const std::string& user, const std::string& password,
               const Logins::Users& known = users()) {
    auto answer = std::make_shared<std::optional<Verdict>>();
    const std::weak_ptr client{answer};
    logins_->check(peer_, Credentials{user, password}, known, client, [client](Verdict verdict) {
      if (const auto waiting = client.lock()) *waiting = verdict;
    });
    return answer;
  }

  /// The verdict, however many turns of the loop it takes.
  std::optional<Verdict> verdict(const std::string& user, const std::string& password,
                                 const Logins::Users& known = users()) {
    const Answer answer = check(user, password, known);
    wait_for(answer);
    return *answer;
  }

  void wait_for(const Answer& answer) {
    const auto patience = std::chrono::steady_clock::now() + test::kPatience;
    while (!answer->has_value() && std::chrono::steady_clock::now() < patience) {
      loop_.run_one_for(seconds{1});
    }
  }

  /// The worker does nothing until this ends.
  std::promise<void> hold_worker() {
    std::promise<void> released;
    boost::asio::post(worker_, [future = released.get_future().share()] { future.wait(); });
    return released;
  }

  Peer peer_{boost::asio::ip::make_address("192.0.2.7")};
  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_ =
      boost::asio::make_work_guard(loop_);
  boost::asio::thread_pool worker_{1};
  std::shared_ptr<Logins> logins_ =
      std::make_shared<Logins>(loop_.get_executor(), worker_, 3, SecretKey{});
};

TEST_F(LoginsTest, AcceptsTheRightPasswordOfItsUser) {
  EXPECT_EQ(verdict("alice", "secret"), Verdict::kAccepted);
  EXPECT_EQ(verdict("bob", "swordfish"), Verdict::kAccepted);
  EXPECT_EQ(verdict("alice", "swordfish"), Verdict::kRefused);
  EXPECT_EQ(verdict("bob", "secret"), Verdict::kRefused);
  EXPECT_EQ(verdict("alice", ""), Verdict::kRefused);
  EXPECT_EQ(verdict("alice", "secret "), Verdict::kRefused);
  EXPECT_EQ(verdict("Alice", "secret"), Verdict::kRefused);
  EXPECT_EQ(verdict("", ""), Verdict::kRefused);
}

TEST_F(LoginsTest, RefusesAnUnknownUserWithThePasswordOfAnother) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(verdict("nobody" + std::to_string(i), "secret"), Verdict::kRefused);
    EXPECT_EQ(verdict("nobody" + std::to_string(i), "swordfish"), Verdict::kRefused);
  }
}

TEST_F(LoginsTest, RefusesAPasswordThatOnlyBeginsRight) {
  EXPECT_EQ(verdict("alice", std::string("secret\0more", 11)), Verdict::kRefused);
  EXPECT_EQ(verdict("alice", std::string("secret\0", 7)), Verdict::kRefused);
  EXPECT_EQ(verdict("alice", "secret"), Verdict::kAccepted);
}

TEST_F(LoginsTest, AsksTheWorkerForUnknownUsersAsForKnownOnes) {
  std::promise<void> held = hold_worker();
  const Answer known = check("alice", "wrong");
  const Answer unknown = check("nobody", "wrong");

  EXPECT_FALSE(known->has_value());
  EXPECT_FALSE(unknown->has_value());
  held.set_value();
  wait_for(known);
  wait_for(unknown);

  EXPECT_EQ(*known, Verdict::kRefused);
  EXPECT_EQ(*unknown, Verdict::kRefused);
}

TEST_F(LoginsTest, RemembersVerdicts) {
  ASSERT_EQ(verdict("alice", "secret"), Verdict::kAccepted);
  ASSERT_EQ(verdict("alice", "wrong"), Verdict::kRefused);
  ASSERT_EQ(verdict("nobody", "wrong"), Verdict::kRefused);

  std::promise<void> held = hold_worker();
  EXPECT_EQ(*check("alice", "secret"), Verdict::kAccepted);
  EXPECT_EQ(*check("alice", "wrong"), Verdict::kRefused);
  EXPECT_EQ(*check("nobody", "wrong"), Verdict::kRefused);
  EXPECT_FALSE(check("nobody", "secret")->has_value());
  held.set_value();
}

TEST_F(LoginsTest, ForgetsWhatAnotherHashHadReported) {
  ASSERT_EQ(verdict("alice", "secret"), Verdict::kAccepted);
  ASSERT_EQ(verdict("carol", "secret"), Verdict::kRefused);

  EXPECT_EQ(verdict("alice", "secret", {{"alice", kSwordfish}}), Verdict::kRefused);
  EXPECT_EQ(verdict("alice", "swordfish", {{"alice", kSwordfish}}), Verdict::kAccepted);
  EXPECT_EQ(verdict("alice", "secret", {{"bob", kSecret}}), Verdict::kRefused);
  // The user who was unknown has now the hash it was compared with.
  EXPECT_EQ(verdict("carol", "secret", {{"carol", kSecret}}), Verdict::kAccepted);
}

TEST_F(LoginsTest, GuessingDoesNotPushOutWhatWasAccepted) {
  ASSERT_EQ(verdict("alice", "secret"), Verdict::kAccepted);
  for (int i = 0; i < 150; ++i) {
    ASSERT_EQ(verdict("alice", "guess" + std::to_string(i)), Verdict::kRefused);
  }

  std::promise<void> held = hold_worker();
  EXPECT_EQ(*check("alice", "secret"), Verdict::kAccepted);
  held.set_value();
}

TEST_F(LoginsTest, LetsNoMoreWaitThanMay) {
  std::promise<void> held = hold_worker();
  std::vector<Answer> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(check("alice", "guess" + std::to_string(i)));

  EXPECT_EQ(*check("alice", "one more"), Verdict::kBusy);
  held.set_value();
  for (const Answer& each : answers) {
    wait_for(each);
    EXPECT_EQ(*each, Verdict::kRefused);
  }
  EXPECT_EQ(verdict("alice", "secret"), Verdict::kAccepted);
}

TEST_F(LoginsTest, AHostThatGuessesWithManyClientsDoesNotKeepAnotherFromLoggingIn) {
  std::promise<void> held = hold_worker();
  std::vector<Answer> guesses;
  for (int i = 0; i < 4; ++i) guesses.push_back(check("alice", "guess" + std::to_string(i)));
  peer_ = Peer{boost::asio::ip::make_address("192.0.2.8")};

  const Answer other = check("alice", "secret");

  EXPECT_EQ(*guesses.back(), Verdict::kBusy) << "the last makes room";
  held.set_value();
  wait_for(other);
  EXPECT_EQ(*other, Verdict::kAccepted);
  EXPECT_EQ(*guesses[1], Verdict::kRefused);
  EXPECT_FALSE(guesses[2]->has_value()) << "it comes after one of the other host";
}

TEST_F(LoginsTest, AHostTakesNoPlaceFromOneOfWhichNoMoreClientsWaitThanWouldOfIt) {
  std::promise<void> held = hold_worker();
  std::vector<Answer> guesses;
  for (int i = 0; i < 4; ++i) guesses.push_back(check("alice", "guess" + std::to_string(i)));
  peer_ = Peer{boost::asio::ip::make_address("192.0.2.8")};
  const Answer other = check("alice", "secret");

  EXPECT_EQ(*check("alice", "one more"), Verdict::kBusy);

  EXPECT_FALSE(guesses[2]->has_value()) << "it still waits";
  held.set_value();
}

TEST_F(LoginsTest, AnswersAllWhoWaitForTheSameVerdictAtOnce) {
  std::promise<void> held = hold_worker();
  std::vector<Answer> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(check("alice", "secret"));
  held.set_value();

  wait_for(answers.front());

  for (const Answer& each : answers) EXPECT_EQ(*each, Verdict::kAccepted);
}

TEST_F(LoginsTest, ChecksNoPasswordOfAClientThatHasLeft) {
  std::promise<void> held = hold_worker();
  const Answer first = check("alice", "first");
  Answer left = check("alice", "left");
  const Answer last = check("alice", "last");

  left.reset();
  held.set_value();
  wait_for(last);
  held = hold_worker();
  const Answer back = check("alice", "left");

  EXPECT_FALSE(back->has_value()) << "there was no verdict to remember";
  held.set_value();
}

TEST_F(LoginsTest, GivesThePlaceOfAClientThatHasLeftToTheNextOne) {
  std::promise<void> held = hold_worker();
  std::vector<Answer> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(check("alice", "guess" + std::to_string(i)));

  answers[2].reset();
  const Answer next = check("alice", "secret");

  EXPECT_FALSE(next->has_value());
  held.set_value();
  wait_for(next);
  EXPECT_EQ(*next, Verdict::kAccepted);
}

TEST_F(LoginsTest, ReportsNothingAfterItWasStopped) {
  std::promise<void> held = hold_worker();
  const Answer running = check("alice", "secret");
  const Answer waiting = check("bob", "swordfish");

  logins_->stop();
  held.set_value();
  worker_.join();
  loop_.poll();

  EXPECT_FALSE(running->has_value());
  EXPECT_FALSE(waiting->has_value());
}

}  // namespace
}  // namespace pex::access
