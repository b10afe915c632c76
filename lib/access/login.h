#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "access/peer.h"
#include "access/peer_queue.h"
#include "base/result.h"

namespace pex::access {

/// The credentials of a field "Authorization: Basic ..." (RFC 7617). The password is wiped at its
/// end, also where it was moved from; the head of the request is not.
struct Credentials {
  std::string user;
  std::string password;

  Credentials(std::string_view user_name, std::string_view plain_password)
      : user(user_name), password(plain_password) {}
  Credentials(Credentials&&) = default;
  Credentials& operator=(Credentials&&) = delete;  ///< would free a password without wiping it
  ~Credentials();
};

/// Nothing for another scheme, for invalid base64 (RFC 4648, 4: with padding, without blanks), and
/// without a colon.
std::optional<Credentials> parse_credentials(std::string_view authorization);

using SecretKey = std::array<unsigned char, 32>;

/// Fails if OpenSSL cannot provide random bytes.
Result<SecretKey> random_key();

/// Verdicts on passwords, by a keyed digest of what was checked; the oldest of a kind is evicted.
/// So wrong guesses cannot evict correct passwords.
class VerdictCache {
 public:
  using Digest = std::array<unsigned char, 32>;
  static constexpr std::size_t kMax = 100;  ///< of each kind

  std::optional<bool> find(const Digest& digest) const;
  void add(const Digest& digest, bool accepted);

 private:
  std::deque<Digest> accepted_;
  std::deque<Digest> refused_;
};

/// Checks passwords against bcrypt hashes, which takes some hundred milliseconds each by intention:
/// on a worker, one at a time; share it with nothing that clients wait for. Those who wait are
/// served in the order of PeerQueue. All calls are made, and all answers given, on the loop.
class Logins : public std::enable_shared_from_this<Logins> {
 public:
  enum class Verdict {
    kAccepted,
    kRefused,
    kBusy,  ///< the queue is full, and no other peer has more clients in it
  };
  using Done = std::function<void(Verdict)>;
  using Users = std::map<std::string, std::string>;  ///< name -> bcrypt hash

  Logins(boost::asio::any_io_executor loop, boost::asio::thread_pool& worker,
         std::size_t max_waiting, const SecretKey& key)
      : loop_(std::move(loop)), worker_(worker), max_waiting_(max_waiting), key_(key) {}

  /// Calls `done` at once or later, not after stop(), and not always if `client`, who waits for it,
  /// has expired. `users` is not empty. The time taken does not reveal whether a user exists.
  void check(const Peer& peer, Credentials credentials, const Users& users,
             std::weak_ptr<const void> client, Done done);

  /// Whether check() would accept these at once, as they were accepted before.
  bool has_accepted(const Credentials& credentials, const Users& users) const;

  /// Drops all pending answers, and lets the loop run out of work.
  void stop();

 private:
  struct Claim {
    std::string hash;
    bool is_known;  ///< else the hash is another user's, and no password is accepted
    VerdictCache::Digest digest;
  };
  struct Job {
    Peer peer;
    Credentials credentials;
    Claim claim;
    std::weak_ptr<const void> client{};
    Done done{};
  };

  Claim claim_of(const Credentials& credentials, const Users& users) const;
  bool make_room(const Peer& peer);
  template <typename IsOver>
  void remove_if(IsOver is_over);
  void forget_who_left();
  void start_next();
  void finish(Job& job, bool accepted);
  void answer_from_cache();

  boost::asio::any_io_executor loop_;
  boost::asio::thread_pool& worker_;
  std::size_t max_waiting_;
  SecretKey key_;
  VerdictCache cache_;
  PeerQueue<Job> waiting_;
  bool is_running_ = false;  ///< on the worker
  bool is_stopped_ = false;  ///< guarded by door_, through which the worker returns to the loop
  std::mutex door_;
};

}  // namespace pex::access
