#include "access/access.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <string_view>
#include <utility>

#include "access/bcrypt.h"
#include "access/tls_context.h"

namespace pex::access {
namespace {

constexpr const char* kHashRemedy =
    "give the bcrypt hash of the password in 'basic_auth_users', as 'htpasswd -nB USER' prints it";
constexpr const char* kHeaderRemedy = "write it on one line, without control characters";

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char byte) {
    return byte == 0x7f || (byte != '\t' && static_cast<unsigned char>(byte) < ' ');
  });
}

Result<> check_users(const AccessSettings& settings) {
  for (const auto& [name, hash] : settings.users) {
    const std::string wrong = wrong_hash(hash);
    if (wrong.empty()) continue;
    return Error{0, fmt::format("let user '{}' log in: {}", name, wrong), kHashRemedy};
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

Access::Access(AccessSettings settings) : settings_(std::move(settings)) {}
Access::~Access() = default;

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

std::vector<Error> unreadable_files(const AccessSettings& settings) {
  return settings.tls ? unreadable_pems(*settings.tls) : std::vector<Error>{};
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
