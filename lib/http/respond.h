#pragma once

#include <memory>

#include "http/async_value.h"
#include "http/server.h"

namespace pex::http {

/// Calls the route's handler, whose answer will be in `answer`, also when that is 500: because the
/// handler threw, or dropped its Respond.
void ask(const Route& route, const Request& request,
         const std::shared_ptr<AsyncValue<Response>>& answer);

}  // namespace pex::http
