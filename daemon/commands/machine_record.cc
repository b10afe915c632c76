#include "daemon/commands/machine_record.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/small_file.h"
#include "base/utf8.h"
#include "cgroup/hierarchy.h"
#include "cgroup/inventory.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/version.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/doctor.h"
#include "daemon/status/json_array.h"
#include "events/event_resolver.h"
#include "events/event_syntax.h"
#include "events/required_leader.h"
#include "host/machine_files.h"
#include "host/topology.h"
#include "plan/event_trial.h"
#include "plan/probe_cpus.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxBytes = 64 * 1024 * 1024;
constexpr std::size_t kMaxCgroups = 32'768;

/// What distinguishes events for the kernel: type, config, config1, config2; exclude_guest.
using EventKey = std::array<std::uint64_t, 5>;

EventKey key_of(const perf::EventAttributes& event) {
  return {event.type, event.config, event.config1, event.config2, event.exclude_guest ? 1U : 0U};
}

/// The kernel of a recorded machine.
class RecordedKernel final : public perf::PerfKernel {
 public:
  explicit RecordedKernel(const std::map<EventKey, int>& refused) : refused_(refused) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    if (const auto found = refused_.find(key_of(request.event)); found != refused_.end()) {
      return Error{found->second, {}, {}};
    }
    UniqueFd fd{::eventfd(0, EFD_CLOEXEC)};
    if (!fd) return Error{errno, {}, {}};
    return perf::OpenCounter{std::move(fd), ++opened_};
  }
  Result<> enable_group(int) override { return {}; }
  Result<> disable_group(int) override { return {}; }
  /// Nobody counts there.
  Result<std::size_t> read_group(int, std::span<std::uint64_t>) override { return unknown(); }
  Result<perf::OpenCounter> open_event(perf::EventAttr&, const perf::EventTarget&) override {
    return unknown();
  }
  Result<> control(int, perf::EventControl, std::uint64_t) override { return unknown(); }
  Result<perf::Mapping> map(int, std::size_t, std::size_t, bool) override { return unknown(); }
  std::chrono::nanoseconds now() override { return {}; }

 private:
  static Error unknown() { return {ENOSYS, {}, {}}; }

  const std::map<EventKey, int>& refused_;
  std::uint64_t opened_ = 0;
};

json::object finding_json(const Finding& finding) {
  return {{"state", word_for(finding.state)},
          {"subject", finding.subject},
          {"what", finding.what},
          {"consequence", finding.consequence},
          {"remedy", finding.remedy}};
}

/// Whether a refusal is a fact of the machine, and not of rights, a shortage or a missing leader.
bool is_lack(int code, const events::EventResolver& resolver, const perf::EventAttributes& event) {
  const auto needed = events::required_leader(resolver.pmus(), event);
  return plan::is_lasting(code) && !plan::is_about_rights(code) &&
         !(needed && needed->refusal == code);
}

json::array refused_events(const Options& options, perf::PerfKernel& kernel) {
  json::array refused;
  const Result<std::vector<int>> online = host::online_cpus(options.roots);
  const Result<events::EventResolver> resolver = events::EventResolver::create(options.roots);
  if (!online || !resolver) return refused;
  const plan::ProbeCpus cpus{*resolver, *online};
  for (const events::ListedEvent& listed : events::list_events(*resolver)) {
    const auto parsed = events::parse_events(listed.name);
    if (listed.is_one_of_thousands || !parsed) continue;
    const auto specs = resolver->resolve(parsed->events.front());
    for (const events::EventSpec& spec : specs ? *specs : std::vector<events::EventSpec>{}) {
      const events::EventInstance& instance = spec.instances.front();
      if (!instance.pmu.empty() && cpus.is_waiting(instance.pmu)) continue;
      perf::CounterSpec event{listed.name, instance.attributes};
      for (const bool without_guests : {false, true}) {
        event.attributes.exclude_guest = without_guests;
        const int cpu = cpus.where_it_opens(kernel, instance.pmu, {&event, 1});
        const Result<> tried = plan::try_event(kernel, event, {cpu, -1, {}});
        if (tried || !is_lack(tried.error().code, *resolver, event.attributes)) break;
        refused.push_back(json::object{{"event", listed.name},
                                       {"key", json::value_from(key_of(event.attributes))},
                                       {"errno", tried.error().code}});
      }
    }
  }
  return refused;
}

host::MachineFiles files_of(const host::HostRoots& roots) {
  host::MachineFiles files = host::read_machine_files(roots);
  const auto tree = cgroup::find_hierarchy(roots);
  if (!tree || !*tree) return files;
  const bool is_v2 = (*tree)->version == cgroup::Hierarchy::Version::kV2;
  files[is_v2 ? "cgroup/cgroup.controllers" : "cgroup/tasks"] = {};
  for (const std::string& path : cgroup::take_inventory((*tree)->mount, kMaxCgroups).cgroups) {
    files["cgroup" + path + "/"] = {};
  }
  return files;
}

struct Record {
  host::MachineFiles files;
  std::map<EventKey, int> refused;  ///< with the errno
};

Result<Record> read_record(const std::string& file) {
  const Result<std::string> text = read_small_file(file, kMaxBytes, "the machine");
  if (!text) return text.error();
  try {
    const json::value whole = json::parse(*text);
    const json::object& machine = whole.as_object().at("machine").as_object();
    Record record{json::value_to<host::MachineFiles>(machine.at("files")), {}};
    for (const json::value& each : machine.at("refused").as_array()) {
      const json::object& event = each.as_object();
      record.refused[json::value_to<EventKey>(event.at("key"))] =
          json::value_to<int>(event.at("errno"));
    }
    return record;
  } catch (const std::exception&) {
    return Error{0, "read '" + file + "', which has no record of a machine",
                 "record it as root: perf_event_exporter doctor --output=json"};
  }
}

}  // namespace

ExitStatus print_machine(const Options& options, perf::PerfKernel& kernel) {
  const std::vector<Finding> findings = check_all(options, kernel, this_process());
  json::object record{{"version", kVersion}, {"findings", json_array(findings, finding_json)}};
  const Result<std::vector<int>> online = host::online_cpus(options.roots);
  if (online && !refusal_at(kernel, {online->front(), -1, {}})) {
    record["machine"] = {{"files", json::value_from(files_of(options.roots))},
                         {"refused", refused_events(options, kernel)}};
  }
  std::cout << as_utf8(json::serialize(record)) << '\n';
  return flush_output() && count(findings, Finding::State::kBad) == 0 ? kOk : kFailed;
}

Result<> on_recorded_machine(const std::string& file, const MachineJob& job) {
  const Result<Record> record = read_record(file);
  if (!record) return record.error();
  std::string directory = std::filesystem::temp_directory_path() / "perf_event_exporter_XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    return Error{errno, "make a directory like '" + directory + "'", "set TMPDIR"};
  }
  RecordedKernel kernel{record->refused};
  const Result<host::HostRoots> roots = host::write_machine_files(record->files, directory);
  if (roots) job(*roots, kernel);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return roots ? Result<>{} : roots.error();
}

}  // namespace pex::daemon
