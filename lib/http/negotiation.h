#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pex::http {

/// One thing we can send: a media type with the parameters that matter, in lower case.
struct Offer {
  std::string_view type;       ///< "application/openmetrics-text"
  std::string_view version{};  ///< "1.0.0"; a range that asks for another version does not match
};

/// Index of the best of `offers`, of which there is one at least, for a client that sent `accept`
/// (RFC 9110, 12.5.1): the highest quality, which the most specific of the ranges that match gives;
/// of equal ones that which the more specific range names, then the first. Unknown parameters are
/// ignored, and an element that is malformed counts for nothing. The last offer is the fallback: it
/// alone is meant by wildcards, so whoever takes anything gets that and the others are only for who
/// names them; and it is what there is when nothing can be had, as an answer that the client may
/// not like is of more use than none.
std::size_t best_offer(std::string_view accept, std::span<const Offer> offers);

/// Whether a client that sent `accept_encoding` (RFC 9110, 12.5.3) takes gzip: only when it says
/// so, by name and with a quality above 0.
bool takes_gzip(std::string_view accept_encoding);

/// The values of every `name=value` in a query string whose name is `name`, percent-decoded, '+' as
/// a blank (URL standard, application/x-www-form-urlencoded), in their order. Names are decoded as
/// well: "collect%5B%5D" is "collect[]". A name without '=' has an empty value; a '%' without two
/// hexadecimal digits stays as it is. Values may hold any byte.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

}  // namespace pex::http
