#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace pex::http {

/// A server of ours, as those who share its machine reach it.
struct Destination {
  std::string address;  ///< one of Listening::addresses, with a port that was chosen
  bool tls = false;     ///< its certificate is not looked at: nobody is between it and us
};

struct Fetched {
  unsigned status = 0;  ///< 200
  std::string body;
};

/// Sends one GET for `path` and waits for the whole answer, no longer than `patience` once the
/// address is known: one with a name in it waits for its resolution as well. For programs that do
/// nothing else meanwhile. Fails when there is no answer, or one that is not HTTP or has more than
/// 64 KiB.
Result<Fetched> fetch(const Destination& destination, const std::string& path,
                      std::chrono::milliseconds patience);

}  // namespace pex::http
