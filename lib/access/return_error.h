#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pex::access {

/// co_await with this returns the error_code in a tuple, instead of throwing it.
inline constexpr auto kReturnError = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace pex::access
