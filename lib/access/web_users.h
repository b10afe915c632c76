#pragma once

#include <map>
#include <string>

#include "yaml/value.h"

namespace pex::access {

/// Reads what stands behind `basic_auth_users:`: names and bcrypt hashes. No message repeats any of
/// it, as who forgets the blank behind a colon has written a password into a name.
void read_users(const yaml::Value& value, std::map<std::string, std::string>& users);

}  // namespace pex::access
