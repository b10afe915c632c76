#include "bench/workload/compile_work.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <utility>

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFunctions = 40;  // some 0.3 s of a CPU

/// Without any header, so that the work is the same with every library.
constexpr const char* kPrologue = R"(
template <typename T, int N>
struct Array {
  T values[N];
  T& operator[](int at) { return values[at]; }
};
template <typename T, int N>
T sum(Array<T, N>& array) {
  T all{};
  for (int i = 0; i < N; ++i) all += array[i] * (i % 3 + 1);
  return all;
}
)";

std::string function_text(std::size_t number) {
  const std::string n = std::to_string(number);
  return "long function_" + n +
         "(long x, const char* text) {\n"
         "  Array<long, " +
         std::to_string(number % 40 + 8) +
         "> array{};\n"
         "  for (int i = 0; text[i] != 0; ++i) {\n"
         "    switch ((text[i] + x) % 7) {\n"
         "      case 0: array[i % 8] += x * " +
         n +
         "; break;\n"
         "      case 1: array[(i + 1) % 8] ^= x >> 3; break;\n"
         "      case 2: x = x * 31 + text[i]; break;\n"
         "      case 3: array[i % 5] -= sum(array); break;\n"
         "      default: x += array[(i * 3) % 8];\n"
         "    }\n"
         "  }\n"
         "  return sum(array) + x;\n"
         "}\n";
}

bool write_source(const std::string& path) {
  std::ofstream file(path);
  file << kPrologue;
  for (std::size_t number = 0; number < kFunctions; ++number) file << function_text(number);
  return static_cast<bool>(file.flush());
}

/// Until one of them has ended; false if a stop signal arrives first.
bool wait_for_one(const std::vector<ChildProcess>& running, const StopSignals& stop) {
  std::vector<pollfd> waited{{stop.descriptor(), POLLIN, 0}};
  for (const ChildProcess& one : running) waited.push_back({one.descriptor(), POLLIN, 0});
  ::poll(waited.data(), waited.size(), -1);
  return waited.front().revents == 0;
}

bool has_ended(const ChildProcess& process) {
  pollfd waited{process.descriptor(), POLLIN, 0};
  return ::poll(&waited, 1, 0) == 1;
}

}  // namespace

Result<CompileWork> CompileWork::prepare(const std::string& directory, std::size_t files,
                                         const CgroupTree& cgroups, const std::vector<int>& cpus) {
  const CompileWork work{directory, files, cgroups, cpus};
  if (!write_source(directory + "/source.cc")) {
    return Error{errno, "write to '" + directory + "'", {}};
  }
  return work;
}

Result<ChildProcess> CompileWork::start(std::size_t number) const {
  const std::string base = directory_ + "/" + std::to_string(number);
  const std::size_t cgroups = cgroups_.size();
  const std::string cgroup = cgroups == 0 ? "" : cgroups_.directory(number % cgroups);
  return ChildProcess::execute(
      {cgroup, cpus_},
      {"g++", "-std=c++17", "-O1", "-c", directory_ + "/source.cc", "-o", base + ".o"},
      base + ".log");
}

Result<CompileWork::Cost> CompileWork::run(const StopSignals& stop) const {
  Cost cost;
  std::vector<ChildProcess> running;
  const auto start_time = Clock::now();
  for (std::size_t next = 0; next < files_ || !running.empty();) {
    while (next < files_ && running.size() < cpus_.size()) {
      Result<ChildProcess> process = start(next++);
      if (!process) return process.error();
      running.push_back(std::move(*process));
    }
    if (!wait_for_one(running, stop)) return Error{EINTR, "measure", {}};
    const auto ended = std::find_if(running.begin(), running.end(), has_ended);
    if (ended == running.end()) continue;
    const ChildProcess::End end = ended->wait();
    running.erase(ended);
    if (end.status != 0) return Error{0, "compile a file", "install g++"};
    cost.cpu_seconds += std::chrono::duration<double>(end.cpu_time).count();
  }
  cost.seconds = std::chrono::duration<double>(Clock::now() - start_time).count();
  return cost;
}

}  // namespace pex::bench
