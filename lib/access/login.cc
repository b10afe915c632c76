#include "access/login.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <boost/asio/post.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace pex::access {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kScheme = "basic ";

/// Its whole memory: the bytes of a moved-out short string are still there, after its end.
void wipe(std::string& text) {
  text.resize(text.capacity());
  OPENSSL_cleanse(text.data(), text.size());
}

bool has_scheme(std::string_view authorization) {
  return authorization.size() > kScheme.size() &&
         iequals(authorization.substr(0, kScheme.size()), kScheme);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* room_in(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

/// RFC 4648, 4. OpenSSL accepts several spellings of one text; only the one that it writes is valid
/// here.
std::optional<std::string> decode_base64(std::string_view text) {
  std::string decoded(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(room_in(decoded), bytes_of(text), static_cast<int>(text.size()));
  const int padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (size < padding) return {};
  decoded.resize(static_cast<std::size_t>(size - padding));
  std::string again(text.size(), '\0');
  EVP_EncodeBlock(room_in(again), bytes_of(decoded), size - padding);
  if (again != text) return {};
  return decoded;
}

constexpr std::size_t kMaxSizedBytes = 64;  ///< of a short word and three sizes

/// Precedes the bytes, so that "ab" and "c" differ from "a" and "bc".
void append_sized(std::string& to, std::string_view text) {
  const std::uint64_t size = text.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

VerdictCache::Digest keyed_digest(const SecretKey& key, std::string_view text) {
  VerdictCache::Digest digest{};
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
         digest.data(), nullptr);
  return digest;
}

/// Constant for a name, and not predictable from outside.
const std::string& hash_of_another(const Logins::Users& users, const SecretKey& key,
                                   std::string_view name) {
  const VerdictCache::Digest digest = keyed_digest(key, name);
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return std::next(users.begin(), static_cast<std::ptrdiff_t>(number % users.size()))->second;
}

/// Takes some hundred milliseconds: bcrypt, by crypt(3).
bool is_password_of(const std::string& password, const std::string& hash) {
  const auto memory = std::make_unique<crypt_data>();
  const char* const again = ::crypt_r(password.c_str(), hash.c_str(), memory.get());
  const bool is_same = again != nullptr && std::strlen(again) == hash.size() &&
                       CRYPTO_memcmp(again, hash.data(), hash.size()) == 0;
  OPENSSL_cleanse(memory.get(), sizeof *memory);
  return is_same;
}

/// Compares with all of them, so that the time does not reveal the position of a match.
bool has(const std::deque<VerdictCache::Digest>& digests, const VerdictCache::Digest& wanted) {
  bool found = false;
  for (const auto& each : digests) {
    found |= CRYPTO_memcmp(each.data(), wanted.data(), wanted.size()) == 0;
  }
  return found;
}

}  // namespace

Result<SecretKey> random_key() {
  SecretKey key{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    return Error{0, "draw random bytes from OpenSSL", ""};
  }
  return key;
}

Credentials::~Credentials() { wipe(password); }

std::optional<Credentials> parse_credentials(std::string_view authorization) {
  if (!has_scheme(authorization)) return {};
  auto decoded = decode_base64(trim(authorization.substr(kScheme.size())));
  const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos) return {};
  const std::string_view both = *decoded;
  Credentials credentials{both.substr(0, colon), both.substr(colon + 1)};
  wipe(*decoded);
  return credentials;
}

std::optional<bool> VerdictCache::find(const Digest& digest) const {
  const bool accepted = has(accepted_, digest);
  const bool refused = has(refused_, digest);
  if (!accepted && !refused) return {};
  return accepted;
}

void VerdictCache::add(const Digest& digest, bool accepted) {
  std::deque<Digest>& kind = accepted ? accepted_ : refused_;
  kind.push_back(digest);
  if (kind.size() > kMax) kind.pop_front();
}

Logins::Claim Logins::claim_of(const Credentials& credentials, const Users& users) const {
  const auto user = users.find(credentials.user);
  // crypt_r would read a password up to its first NUL, and accept a shorter one
  const bool has_nul = credentials.password.find('\0') != std::string::npos;
  const bool is_known = user != users.end() && !has_nul;
  // Done for unknown users too, so that an existing user costs no less than one who does not exist.
  const std::string& other_hash = hash_of_another(users, key_, credentials.user);
  const std::string& hash = user != users.end() ? user->second : other_hash;

  std::string checked;
  checked.reserve(kMaxSizedBytes + credentials.user.size() + hash.size() +
                  credentials.password.size());  // once: its internal state would not be wiped
  checked += is_known ? "known" : "other";       // of one length, for the same reason as above
  append_sized(checked, credentials.user);
  append_sized(checked, hash);
  append_sized(checked, credentials.password);
  const VerdictCache::Digest digest = keyed_digest(key_, checked);
  wipe(checked);
  return {hash, is_known, digest};
}

bool Logins::has_accepted(const Credentials& credentials, const Users& users) const {
  return cache_.find(claim_of(credentials, users).digest).value_or(false);
}

void Logins::check(const Peer& peer, Credentials credentials, const Users& users,
                   std::weak_ptr<const void> client, Done done) {
  Claim claim = claim_of(credentials, users);
  if (const auto known = cache_.find(claim.digest)) {
    done(*known ? Verdict::kAccepted : Verdict::kRefused);
  } else if (!make_room(peer)) {
    done(Verdict::kBusy);
  } else {
    waiting_.push(
        peer, {peer, std::move(credentials), std::move(claim), std::move(client), std::move(done)});
    start_next();
  }
}

/// From the peer of which most clients wait, if it has more than this one will have.
bool Logins::make_room(const Peer& peer) {
  if (waiting_.size() >= max_waiting_) forget_who_left();
  if (waiting_.size() < max_waiting_) return true;
  if (waiting_.empty()) return false;  // none may wait
  const Peer longest = waiting_.longest();
  if (waiting_.size_of(longest) <= waiting_.size_of(peer) + 1) return false;
  waiting_.take_last(longest).done(Verdict::kBusy);
  return true;
}

void Logins::start_next() {
  if (is_running_) return;
  forget_who_left();
  if (waiting_.empty()) return;
  const auto job = std::make_shared<Job>(waiting_.take_next());
  is_running_ = true;
  asio::post(worker_, [self = shared_from_this(), job] {
    const bool accepted =
        is_password_of(job->credentials.password, job->claim.hash) && job->claim.is_known;
    const std::lock_guard lock{self->door_};
    if (self->is_stopped_) return;
    asio::post(self->loop_, [self, job, accepted] { self->finish(*job, accepted); });
  });
}

void Logins::finish(Job& job, bool accepted) {
  if (is_stopped_) return;
  is_running_ = false;
  cache_.add(job.claim.digest, accepted);
  job.done(accepted ? Verdict::kAccepted : Verdict::kRefused);
  answer_from_cache();
  start_next();
}

/// All others keep their order.
template <typename IsOver>
void Logins::remove_if(IsOver is_over) {
  PeerQueue<Job> waiting = std::exchange(waiting_, {});
  while (!waiting.empty()) {
    Job job = waiting.take_next();
    if (is_over(job)) continue;
    const Peer peer = job.peer;
    waiting_.push(peer, std::move(job));
  }
}

/// A check whose verdict nobody waits for would delay all others.
void Logins::forget_who_left() {
  remove_if([](const Job& job) { return job.client.expired(); });
}

/// Those who wait with the same name and password get the verdict now.
void Logins::answer_from_cache() {
  remove_if([this](const Job& job) {
    const auto known = cache_.find(job.claim.digest);
    if (known) job.done(*known ? Verdict::kAccepted : Verdict::kRefused);
    return known.has_value();
  });
}

void Logins::stop() {
  const std::lock_guard lock{door_};
  is_stopped_ = true;
  waiting_ = {};
}

}  // namespace pex::access
