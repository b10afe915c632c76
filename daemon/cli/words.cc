#include "daemon/cli/words.h"

#include "base/lookup.h"

namespace pex::daemon {
namespace {

struct TermEntry {
  ProgramTerm term;
  std::string_view words;
};
constexpr TermEntry kWords[] = {
    {ProgramTerm::kSysfs, "--path.sysfs"},
    {ProgramTerm::kProcfs, "--path.procfs"},
    {ProgramTerm::kCgroupfs, "--path.cgroupfs"},
    {ProgramTerm::kConfigFile, "--config.file"},
    {ProgramTerm::kWebConfigFile, "--web.config.file"},
    {ProgramTerm::kListenAddress, "--web.listen-address"},
    {ProgramTerm::kSocketDirectory, "RuntimeDirectory= of the unit"},
    {ProgramTerm::kOpenFileLimit, "LimitNOFILE= in the unit"},
    {ProgramTerm::kTaskLimit, "TasksMax= in the unit"},
    {ProgramTerm::kEventList, "'perf_event_exporter list'"},
    {ProgramTerm::kTracepointList, "'list'"},
    {ProgramTerm::kDoctor, "'perf_event_exporter doctor'"},
    {ProgramTerm::kProgram, "the exporter"},
    {ProgramTerm::kService, "the service"},
    {ProgramTerm::kAdminRegained,
     "; as root, restart the exporter, which keeps it only if needed at the start"},
};

}  // namespace

std::string_view program_words(ProgramTerm term) {
  return lookup(kWords, &TermEntry::term, term)->words;  // each term has an entry
}

std::string worded(const Error& error) { return describe(error, program_words); }

std::string worded(const Remedy& remedy) { return remedy.text(program_words); }

std::string without_remedy(const Error& error) {
  return describe({error.code, error.attempted, {}, error.cause});
}

}  // namespace pex::daemon
