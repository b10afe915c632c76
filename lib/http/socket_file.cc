#include "http/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/semaphore.h"

namespace pex::http {
namespace {

constexpr std::chrono::seconds kAnswersWithin{1};
constexpr auto kAddress = ProgramTerm::kListenAddress;

Remedy directory_remedy() {
  return "set a path in " + kAddress +
         " whose directory exists and is writable by this program, for example below " +
         ProgramTerm::kSocketDirectory;
}

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!path.starts_with('/') || path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool bind_to(const UniqueFd& socket, const sockaddr_un& address) {
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// Only if no process listens on this socket any more; a full backlog belongs to a listener as
/// well.
bool is_deserted(const sockaddr_un& address) {
  const UniqueFd probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  return probe &&
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

/// Removes what exists at `address`, if possible.
Result<> clear(const sockaddr_un& address, const std::string& attempted) {
  struct stat status {};
  if (::lstat(address.sun_path, &status) == 0 && !S_ISSOCK(status.st_mode)) {
    return Error{
        EADDRINUSE, attempted,
        "a file that is not a socket exists: remove it, or set another path in " + kAddress};
  }
  if (!is_deserted(address))
    return Error{EADDRINUSE, attempted,
                 "another program listens there: set another path in " + kAddress};
  if (::unlink(address.sun_path) != 0) return Error{errno, attempted, directory_remedy()};
  return {};
}

}  // namespace

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  remove();
  path_ = std::exchange(other.path_, {});
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

Result<SocketFile> SocketFile::bind(const UniqueFd& socket, const std::string& path) {
  const std::string attempted = "listen on unix:" + path;
  const auto address = address_of(path);
  if (!address)
    return Error{0, "'unix:" + path + "' is not a listen address",
                 "write unix: and an absolute path of at most 107 bytes in " + kAddress};
  bool is_bound = bind_to(socket, *address);
  if (!is_bound && errno == EADDRINUSE) {
    if (auto cleared = clear(*address, attempted); !cleared) return cleared.error();
    is_bound = bind_to(socket, *address);
  }
  struct stat status {};
  if (!is_bound || ::lstat(path.c_str(), &status) != 0) {
    return Error{errno, attempted, directory_remedy()};
  }
  return SocketFile{path, status.st_dev, status.st_ino};
}

void SocketFile::remove() {
  if (path_.empty()) return;
  const auto ended = std::make_shared<Semaphore>();
  const auto remove_ours = [ended, path = std::exchange(path_, {}), device = device_,
                            inode = inode_] {
    struct stat status {};
    const bool is_ours =
        ::lstat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
    if (is_ours) ::unlink(path.c_str());
    ended->post();
  };
  try {
    std::thread(remove_ours).detach();
  } catch (const std::system_error&) {
    return remove_ours();
  }
  (void)ended->wait_until(std::chrono::steady_clock::now() + kAnswersWithin);
}

}  // namespace pex::http
