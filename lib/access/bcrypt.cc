#include "access/bcrypt.h"

#include "base/text.h"

namespace pex::access {
namespace {

// "$2y$10$", 22 digits of salt and 31 of the result.
constexpr std::size_t kSettings = 7;
constexpr std::size_t kLastOfSalt = kSettings + 21;
constexpr std::size_t kSize = 60;

constexpr std::string_view kDigits =
    "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
// Both parts end within a digit; crypt(3) always writes the remaining bits as zero, so a hash with
// other bits matches no password.
constexpr std::string_view kLastDigitsOfSalt = ".Oeu";
constexpr std::string_view kLastDigits = ".CGKOSWaeimquy26";

bool begins_as_bcrypt(std::string_view hash) {
  constexpr std::string_view kVariants = "aby";
  return hash.size() >= kSettings && hash.starts_with("$2") &&
         kVariants.find(hash[2]) != kVariants.npos && hash[3] == '$' && is_digit(hash[4]) &&
         is_digit(hash[5]) && hash[6] == '$';
}

bool is_whole(std::string_view hash) {
  return hash.size() == kSize && hash.find_first_not_of(kDigits, kSettings) == hash.npos &&
         kLastDigitsOfSalt.find(hash[kLastOfSalt]) != kLastDigitsOfSalt.npos &&
         kLastDigits.find(hash.back()) != kLastDigits.npos;
}

}  // namespace

int cost_of(std::string_view hash) { return (hash[4] - '0') * 10 + (hash[5] - '0'); }

std::string wrong_hash(std::string_view hash) {
  if (!begins_as_bcrypt(hash)) return "this is no bcrypt hash";
  const int cost = cost_of(hash);
  if (cost < kMinCost)
    return "a hash of cost " + std::to_string(cost) + ", which bcrypt does not have";
  if (cost > kMaxCost) {
    return "a hash of cost " + std::to_string(cost) + ": one check of it would take too long";
  }
  if (!is_whole(hash)) return "a bcrypt hash that is damaged: no password can match it";
  return {};
}

}  // namespace pex::access
