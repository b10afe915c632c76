#include "support/file_shortage.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace pex::test {
namespace {

constexpr unsigned kFlagsOffset = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t) +
                                  (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);

/// For the calling thread, until it ends.
bool refuse_files() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlagsOffset),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECTORY, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

bool without_files(const std::function<void()>& call) {
  bool is_refusing = false;
  std::thread thread{[&] {
    is_refusing = refuse_files();
    if (is_refusing) call();
  }};
  thread.join();
  return is_refusing;
}

}  // namespace pex::test
