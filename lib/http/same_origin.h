#pragma once

#include "http/request_head.h"

namespace pex::http {

/// Whether a browser declares that it sends this request for a page of another site: by
/// Sec-Fetch-Site (Fetch Metadata Request Headers, 2.4), or by an Origin (RFC 6454, 7) other than
/// the request's Host. A client that sends neither is not a browser, or the user entered the
/// address. Schemes are not compared, as TLS may end before us. For a head with status 200.
bool is_of_another_site(const RequestHead& head);

}  // namespace pex::http
