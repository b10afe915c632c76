#include "host/init_process.h"

#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

constexpr const char* kCommandLine = "/proc/1/cmdline";

}  // namespace

std::vector<std::string> parse_command_line(std::string_view text) {
  if (text.empty()) return {};
  if (text.back() == '\0') text.remove_suffix(1);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  return words;
}

std::vector<std::string> command_line_of_init_process() {
  const Result<std::string> text = read_small_file(kCommandLine);
  return text ? parse_command_line(*text) : std::vector<std::string>{};
}

}  // namespace pex::host
