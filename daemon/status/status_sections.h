#pragma once

#include <string>

#include "daemon/status/status.h"

namespace pex::daemon {

/// The parts of the status page, from top to bottom, as HTML. A part that has nothing to say is
/// empty.

/// What is right and what is not, in a line each.
std::string notices_html(const Status& status);
/// The few numbers to look at first.
std::string figures_html(const Status& status);
std::string busiest_html(const Status& status);
std::string groups_html(const Status& status);
std::string not_counted_html(const Status& status);
std::string remarks_html(const Status& status);
std::string left_out_html(const Status& status);
std::string limits_html(const Status& status);
std::string polls_html(const Status& status);
std::string configuration_html(const Status& status);
std::string web_configuration_html(const Status& status);

}  // namespace pex::daemon
