#include "access/access.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "access/ready_access.h"

namespace pex::access {
namespace {

constexpr const char* kHashRemedy =
    "give the bcrypt hash of the password in 'basic_auth_users', as 'htpasswd -nB USER' prints it";
constexpr const char* kHeaderRemedy = "write it on one line, without control characters";

bool is_bcrypt_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '.' && letter <= '9');
}

/// "$2b$10$" and 53 letters (crypt(5)).
bool is_bcrypt(std::string_view hash) {
  constexpr std::size_t kSaltAt = 7;
  if (hash.size() != kSaltAt + 53 || hash.substr(0, 2) != "$2" || hash[3] != '$') return false;
  if (std::string_view{"aby"}.find(hash[2]) == std::string_view::npos) return false;
  const std::string_view cost = hash.substr(4, 2);
  if (cost < "04" || cost > "31" || cost[1] < '0' || cost[1] > '9' || hash[6] != '$') return false;
  return std::all_of(hash.begin() + kSaltAt, hash.end(), is_bcrypt_letter);
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char byte) {
    return byte == 0x7f || (byte != '\t' && static_cast<unsigned char>(byte) < ' ');
  });
}

Result<> check_users(const AccessSettings& settings) {
  for (const auto& [name, hash] : settings.users) {
    if (!is_bcrypt(hash))
      return Error{0, "the hash of user '" + name + "' is no bcrypt", kHashRemedy};
  }
  return {};
}

Result<> check_headers(const AccessSettings& settings) {
  for (const auto& [name, value] : settings.headers) {
    if (name.empty() || name.find_first_of(": \t") != std::string::npos || !is_one_line(name) ||
        !is_one_line(value)) {
      return Error{0, "header '" + name + "' cannot be sent", kHeaderRemedy};
    }
  }
  return {};
}

}  // namespace

Result<> Access::prepare() {
  if (auto checked = check_users(settings_); !checked) return checked;
  if (auto checked = check_headers(settings_); !checked) return checked;
  if (!settings_.tls) return {};
  auto context = make_tls_context(*settings_.tls);
  if (!context) return context.error();
  tls_ = *std::move(context);
  return {};
}

Result<std::shared_ptr<const Access>> make_access(AccessSettings settings) {
  auto access = std::make_shared<Access>(std::move(settings));
  if (auto prepared = access->prepare(); !prepared) return prepared.error();
  return std::shared_ptr<const Access>{std::move(access)};
}

bool allows_anonymous(const Access& access) {
  const AccessSettings& settings = access.settings();
  const bool verifies =
      settings.tls && settings.tls->client_certificate == ClientCertificate::kRequiredAndVerified;
  return settings.users.empty() && !verifies;
}

std::shared_ptr<const Access> open_access() {
  static const auto access = std::make_shared<const Access>(AccessSettings{});
  return access;
}

}  // namespace pex::access
