#pragma once

#include <memory>

#include "http/async_value.h"
#include "http/server.h"

namespace pex::http {

/// Calls the route's handler and puts its answer into `answer`, a 500 if the handler threw an
/// exception or dropped its Respond.
void ask(const Route& route, const Request& request,
         const std::shared_ptr<AsyncValue<Response>>& answer);

}  // namespace pex::http
