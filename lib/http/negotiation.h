#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pex::http {

/// A media type that we can send, with its relevant parameters, in lower case.
struct Offer {
  std::string_view type;       ///< "application/openmetrics-text"
  std::string_view version{};  ///< "1.0.0"; a range with another version does not match
};

/// Index of the best of `offers`, which is not empty, for a client that sent `accept` (RFC 9110,
/// 12.5.1): the highest quality, which the most specific matching range defines; of equal ones the
/// one that the more specific range names, then the first. Unknown parameters and malformed
/// elements are ignored. The last offer is the fallback: only it matches wildcards, so clients that
/// accept anything get it, and the others only go to clients that name them; it is also the result
/// if nothing matches, as an unwanted answer is more useful than none.
std::size_t best_offer(std::string_view accept, std::span<const Offer> offers);

/// Whether a client that sent `accept_encoding` (RFC 9110, 12.5.3) accepts gzip: only if it names
/// it or x-gzip, which is the same (8.4.1.3), with a quality above 0. Malformed elements are
/// ignored.
bool takes_gzip(std::string_view accept_encoding);

/// The values of every `name=value` in a query string whose name is `name`, percent-decoded, '+' as
/// a blank (URL standard, application/x-www-form-urlencoded), in order. Names are decoded as well:
/// "collect%5B%5D" is "collect[]". A name without '=' has an empty value; a '%' without two
/// hexadecimal digits is unchanged. Values may contain any byte.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

}  // namespace pex::http
