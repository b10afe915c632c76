#include "access/web_users.h"

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "access/bcrypt.h"

namespace pex::access {
namespace {

constexpr std::size_t kMaxUsers = 1000;
constexpr std::size_t kMaxNameBytes = 255;

constexpr yaml::Expected kUsers = {
    "a map of users",
    "write 'name: hash' for each user, the hash as 'htpasswd -nBC 10 \"\"' prints it, or remove "
    "basic_auth_users to disable logins"};
constexpr yaml::Expected kName = {"a user's name", "write a name, for example prometheus"};
constexpr yaml::Expected kHash = {"a bcrypt hash",
                                  "write what 'htpasswd -nBC 10 \"\"' prints after its colon"};

bool is_user_name(const yaml::Value& key, std::string_view name) {
  if (name.empty()) {
    key.refuse("the name is empty", std::string(kName.remedy));
  } else if (name.size() > kMaxNameBytes) {
    key.refuse(fmt::format("a name of {} bytes", name.size()),
               fmt::format("use at most {}", kMaxNameBytes));
  } else if (name.find(':') != name.npos) {
    key.refuse("a name with ':', which no client can send",
               "write 'name: hash' with a blank after the colon");
  } else {
    return true;
  }
  return false;
}

void read_user(const yaml::Value& key, const yaml::Value& value,
               std::map<std::string, std::string>& users) {
  const std::optional<std::string> name = key.text(kName);
  if (!name || !is_user_name(key, *name)) return;
  const std::optional<std::string> hash = value.text(kHash);
  if (!hash) return;
  if (const std::string wrong = wrong_hash(*hash); !wrong.empty()) {
    return value.refuse(
        wrong, fmt::format("{}, of a cost from {} to {}", kHash.remedy, kMinCost, kMaxCost));
  }
  if (const int cost = cost_of(*hash); cost > kMaxUsualCost) {
    value.warn(
        fmt::format("a hash of cost {}: one check of it takes many seconds, and other logins "
                    "wait for it",
                    cost));
  }
  users[*name] = *hash;
}

}  // namespace

void read_users(const yaml::Value& value, std::map<std::string, std::string>& users) {
  const std::optional<yaml::Value::NamedEntries> entries = value.named_entries(kUsers);
  if (!entries) return;
  if (entries->size() > kMaxUsers) {
    return value.refuse(fmt::format("{} users", entries->size()),
                        fmt::format("name at most {}", kMaxUsers));
  }
  for (const auto& [key, hash] : *entries) read_user(key, hash, users);
}

}  // namespace pex::access
