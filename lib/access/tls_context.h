#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <vector>

#include "access/access.h"
#include "base/result.h"

namespace pex::access {

using TlsContext = std::unique_ptr<boost::asio::ssl::context>;

/// A server's context for `settings`, which must outlive it and its connections. Errors are those
/// of make_access.
Result<TlsContext> make_tls_context(const TlsSettings& settings);

/// One for each of its files that cannot be read.
std::vector<Error> unreadable_pems(const TlsSettings& settings);

}  // namespace pex::access
