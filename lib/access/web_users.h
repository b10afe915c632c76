#pragma once

#include <map>
#include <string>

#include "yaml/value.h"

namespace pex::access {

/// Reads the value of `basic_auth_users:`: names and bcrypt hashes. No message repeats any of it:
/// without a blank after the colon, a password becomes part of a name.
void read_users(const yaml::Value& value, std::map<std::string, std::string>& users);

}  // namespace pex::access
