#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/scripted_kernel.h"

namespace pex::test {

/// What happens before one poll of a case, in the words of counters.script:
///
///   # a comment
///   refuse cycles ENOENT                    no such event anywhere; "allow cycles" takes it back
///   refuse cpu1 /a.service cycles EMFILE    only there
///   cpu0 cycles: 1s 500ms 100 200           totals since opening: enabled, running, counts
///   cpu0 /a.service cycles: eof             pinned, and off the PMU ("broken": CPU went offline)
///   mkdir /a.service      rmdir /a.service  a cgroup comes, goes
///   online 0-1                              the CPUs that are online
///   write /sys/bus/.../cpumask 1            one word into any file of the host tree
///   counters 2                              no group of more events fits on the PMU
///   pass 2s                                 so much time passes for the CPUs' events that count
///                                           without having been told anything
///   inactive 1                              CPU 1: what is opened stands still, as another
///                                           program's event of an idle cgroup was the first there
///   poll                                    one poll, and a scrape of it
///
/// What a group was told to say holds until it is told otherwise.
class Script {
 public:
  /// Throws std::runtime_error with file and line when it does not understand.
  explicit Script(const std::filesystem::path& file);

  /// Carries out everything up to the next poll. False when there is none left.
  bool advance(ScriptedKernel& kernel, const std::filesystem::path& host);

 private:
  struct Line {
    int number;
    std::string text;
  };
  void carry_out(const Line& line, ScriptedKernel& kernel, const std::filesystem::path& host) const;

  std::filesystem::path file_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;
};

}  // namespace pex::test
