#include "host/command_line.h"

#include <unistd.h>

#include <cstddef>

#include "base/directory.h"
#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

constexpr const char* kProcesses = "/proc";
constexpr std::size_t kMaxProcesses = 1 << 22;  // PID_MAX_LIMIT

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

CommandLine parse_command_line(std::string_view text) {
  if (text.empty()) return {};
  if (text.back() == '\0') text.remove_suffix(1);
  CommandLine words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  return words;
}

std::vector<CommandLine> command_lines_of(std::string_view program) {
  std::vector<CommandLine> found;
  const std::string self = std::to_string(::getpid());
  const auto entries = list_directory(kProcesses, kMaxProcesses);
  if (!entries) return found;
  for (const std::string& process : *entries) {
    if (!parse_unsigned(process) || process == self) continue;
    const auto text = read_small_file(std::string(kProcesses) + "/" + process + "/cmdline");
    CommandLine words = text ? parse_command_line(*text) : CommandLine{};
    if (!words.empty() && file_name_of(words.front()) == program) found.push_back(std::move(words));
  }
  return found;
}

}  // namespace pex::host
