#include "e2e/script.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/duration.h"
#include "base/text.h"

namespace pex::test {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, int> kErrnos = {
    {"ENOENT", ENOENT}, {"EBUSY", EBUSY},   {"EMFILE", EMFILE}, {"EACCES", EACCES},
    {"EINVAL", EINVAL}, {"ENODEV", ENODEV}, {"EIO", EIO}};

/// "cpu0 /a cycles EMFILE" into its last word and what stands before it.
std::pair<std::string, std::string> split_last_word(const std::string& text) {
  const std::size_t blank = text.rfind(' ');
  if (blank == std::string::npos) throw std::runtime_error("two words are needed");
  return {text.substr(0, blank), text.substr(blank + 1)};
}

std::chrono::nanoseconds duration(const std::string& text) {
  if (text == "0") return {};
  const auto parsed = parse_duration(text);
  if (!parsed) throw std::runtime_error("'" + text + "' is not a duration");
  return *parsed;
}

ScriptedKernel::Answer parse_answer(const std::string& text) {
  using Kind = ScriptedKernel::Answer::Kind;
  std::istringstream words{text};
  std::string first;
  words >> first;
  if (first == "eof") return {Kind::kEof, {}, {}, {}, 0, {}};
  if (kErrnos.contains(first)) return {Kind::kError, {}, {}, {}, kErrnos.at(first), {}};

  ScriptedKernel::Answer answer;
  if (first == "broken") {
    answer.kind = Kind::kBrokenUp;
    words >> first;
  }
  std::string running;
  words >> running;
  answer.enabled = duration(first);
  answer.running = duration(running);
  for (std::uint64_t count = 0; words >> count;) answer.counts.push_back(count);
  if (!words.eof()) throw std::runtime_error("'" + text + "' is not an answer");
  return answer;
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream{path} << text << '\n';
}

void make_cgroup(const fs::path& directory) {
  fs::create_directories(directory);
  write_file(directory / "cgroup.procs", "");
}

}  // namespace

Script::Script(const fs::path& file) : file_(file) {
  std::ifstream stream{file};
  std::string text;
  for (int number = 1; std::getline(stream, text); ++number) {
    const std::string line{trim(std::string_view(text).substr(0, text.find('#')))};
    if (!line.empty()) lines_.push_back({number, line});
  }
}

bool Script::advance(ScriptedKernel& kernel, const fs::path& host) {
  while (next_ < lines_.size()) {
    const Line& line = lines_[next_++];
    if (line.text == "poll") return true;
    try {
      carry_out(line, kernel, host);
    } catch (const std::exception& wrong) {
      throw std::runtime_error(file_.string() + ":" + std::to_string(line.number) + ": " +
                               wrong.what());
    }
  }
  return false;
}

void Script::carry_out(const Line& line, ScriptedKernel& kernel, const fs::path& host) const {
  const auto starts = [&line](const char* verb) { return line.text.starts_with(verb); };
  const auto rest = [&line](const char* verb) { return line.text.substr(std::strlen(verb)); };
  if (starts("refuse ")) {
    const auto [event, code] = split_last_word(rest("refuse "));
    kernel.refuse(event, kErrnos.at(code));
  } else if (starts("allow ")) {
    kernel.refuse(rest("allow "), 0);
  } else if (starts("mkdir ")) {
    make_cgroup(host / "cgroup" / rest("mkdir /"));
  } else if (starts("rmdir ")) {
    fs::remove_all(host / "cgroup" / rest("rmdir /"));
  } else if (starts("online ")) {
    write_file(host / "sys/devices/system/cpu/online", rest("online "));
  } else if (starts("write ")) {
    const auto [file, text] = split_last_word(rest("write "));
    write_file(host / file.substr(1), text);
  } else if (starts("pass ")) {
    kernel.pass(duration(rest("pass ")));
  } else if (starts("inactive ")) {
    kernel.deactivate_contexts(std::stoi(rest("inactive ")));
  } else if (starts("counters ")) {
    kernel.refuse_groups_larger_than(std::stoul(rest("counters ")), EINVAL);
  } else if (const std::size_t colon = line.text.rfind(": "); colon != std::string::npos) {
    kernel.answer(line.text.substr(0, colon), parse_answer(line.text.substr(colon + 2)));
  } else {
    throw std::runtime_error("'" + line.text + "' is not understood");
  }
}

}  // namespace pex::test
