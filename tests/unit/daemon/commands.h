#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "daemon/cli/options.h"
#include "support/temp_tree.h"

namespace pex::daemon {

/// With the configuration, the roots and a port of the machine in `tree`.
inline Options options_in(const test::TempTree& tree) {
  Options options;
  options.config_file = tree.path("config.yaml");
  options.listen_addresses = {"127.0.0.1:0"};
  options.roots = {tree.path("sys"), tree.path("proc"), tree.path("cgroup")};
  return options;
}

/// How a command ended, and what it wrote.
struct Printed {
  ExitStatus status;
  std::string out;
  std::string err;
};

template <typename Command>
Printed printed_by(Command command) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Printed printed{command(), {}, {}};
  printed.err = testing::internal::GetCapturedStderr();
  printed.out = testing::internal::GetCapturedStdout();
  return printed;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Of errors or of diagnostics: what an operator reads.
template <typename Errors>
std::vector<std::string> described(const Errors& errors) {
  std::vector<std::string> texts;
  for (const auto& each : errors) texts.push_back(describe(each));
  return texts;
}

}  // namespace pex::daemon
