#include "config/web_users.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "config/bcrypt.h"

namespace pex::config {
namespace {

constexpr std::size_t kMaxUsers = 1000;
constexpr std::size_t kMostNameBytes = 255;

constexpr yaml::Expected kUsers = {
    "a map of users",
    "write 'name: hash' for each user, the hash as 'htpasswd -nBC 10 \"\"' prints it, or remove "
    "basic_auth_users and let everybody in"};
constexpr yaml::Expected kName = {"a user's name", "write a name, for example prometheus"};
constexpr yaml::Expected kHash = {"a bcrypt hash",
                                  "write what 'htpasswd -nBC 10 \"\"' prints behind its colon"};

bool is_user_name(const yaml::Value& key, std::string_view name) {
  if (name.empty()) {
    key.refuse("the name is empty", std::string(kName.remedy));
  } else if (name.size() > kMostNameBytes) {
    key.refuse("a name of " + std::to_string(name.size()) + " bytes",
               "use at most " + std::to_string(kMostNameBytes));
  } else if (name.find(':') != name.npos) {
    key.refuse("a name that holds ':', which no client could send",
               "write 'name: hash' with a blank behind the colon");
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
    return value.refuse(wrong, std::string(kHash.remedy) + ", of a cost from " +
                                   std::to_string(kMinCost) + " to " + std::to_string(kMaxCost));
  }
  users[*name] = *hash;
}

}  // namespace

void read_users(const yaml::Value& value, std::map<std::string, std::string>& users) {
  const std::optional<yaml::Value::NamedEntries> entries = value.named_entries(kUsers);
  if (!entries) return;
  if (entries->size() > kMaxUsers) {
    return value.refuse(std::to_string(entries->size()) + " users",
                        "name at most " + std::to_string(kMaxUsers));
  }
  for (const auto& [key, hash] : *entries) read_user(key, hash, users);
}

}  // namespace pex::config
