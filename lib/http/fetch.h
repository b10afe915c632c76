#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace pex::http {

/// A server of ours, for clients on the same machine.
struct Destination {
  std::string address;  ///< one of Listening::addresses, with a fixed port
  bool tls = false;     ///< without a check of its certificate: the connection stays on this
                        ///< machine
};

struct Fetched {
  unsigned status = 0;  ///< 200
  std::string body;
};

/// Sends one GET for `path` and waits for the whole answer, at most `timeout` once the address is
/// known: resolving a name takes additional time. For programs that do nothing else meanwhile.
/// Fails if there is no answer, or one that is not HTTP or has more than 64 KiB.
Result<Fetched> fetch(const Destination& destination, const std::string& path,
                      std::chrono::milliseconds timeout);

}  // namespace pex::http
