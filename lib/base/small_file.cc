#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace pex {

Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  const auto failed = [&path](int code) { return Error{code, "read '" + path + "'", {}}; };

  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return failed(errno);

  std::string content;
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) return content;
    content.append(block, static_cast<std::size_t>(got));
    if (content.size() > max_bytes) return failed(EFBIG);
  }
}

std::string without_final_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace pex
