#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pex::access {

/// What is awaited with this gives its error_code in a tuple, and does not throw it.
inline constexpr auto kReturnError = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace pex::access
