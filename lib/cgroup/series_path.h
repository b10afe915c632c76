#pragma once

#include <string>
#include <string_view>

namespace pex::cgroup {

/// The path whose series the cgroup at `path` shares with all others like it, as systemd gives each
/// of them a name that is used once: with '*' in place of what differs.
///
///   a connection to a socket with Accept=yes   health@4-192.0.2.1:80-192.0.2.2:9.service ->
///                                              health@*.service
///   a session                                  session-3.scope -> session-*.scope
///   a transient unit                           run-u12.service -> run-*.service
///
/// A path that is none of these is returned as it is, and so is one of these results, which
/// somebody may give to a cgroup: it has the same series. Of systemd: instance_from_socket() in
/// src/core/socket.c, src/login/logind-dbus.c, and make_unit_name() in src/run/run.c.
std::string series_path(std::string_view path);

}  // namespace pex::cgroup
