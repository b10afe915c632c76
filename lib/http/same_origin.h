#pragma once

#include "http/request_head.h"

namespace pex::http {

/// Whether a browser says that it sends this request for a page of another site: by Sec-Fetch-Site
/// (Fetch Metadata Request Headers, 2.4), or by an Origin (RFC 6454, 7) that is not the request's
/// own Host. Who sends neither is no browser, or one for which there was no page. Schemes are not
/// compared, as there may be TLS in front of us. Of a head with status 200.
bool is_of_another_site(const RequestHead& head);

}  // namespace pex::http
