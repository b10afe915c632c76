

#include "support/planning.h"
#include "support/test_headers.h"

// Remedies as an operator follows them: each is applied to the text that it is about.

namespace pex::plan {
namespace {

struct Complaint {
  std::string what;  ///< without position
  std::string key;   ///< whose value it is about; the last one in the path
  std::string remedy;
};

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return {};
  return text.replace(at, part.size(), by);
}

/// The first text in quotes behind `words`.
std::optional<std::string> quoted(const std::string& text, const std::string& words) {
  const std::size_t begin = text.find(words + "'");
  if (begin == std::string::npos) return {};
  const std::size_t first = begin + words.size() + 1;
  return text.substr(first, text.find('\'', first) - first);
}

/// Or nothing.
std::optional<std::string> last_quoted(const std::string& text) {
  const std::size_t end = text.rfind('\'');
  if (end == std::string::npos || end == 0) return {};
  const std::size_t begin = text.rfind('\'', end - 1) + 1;
  return text.substr(begin, end - begin);
}

/// Behind "c.yaml:2:39: groups[0].events[0]: at character 5 of 'cpu/umsk/': ".
std::string without_position(const std::string& message) {
  const std::size_t character = message.find("at character ");
  const std::size_t end = character == std::string::npos ? message.find(": ", message.find("]: "))
                                                         : message.find("': ", character);
  return end == std::string::npos ? message : message.substr(end + 2);
}

std::string last_key(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

/// Of a whole file.
std::vector<Complaint> complaints(const std::string& machine, const std::string& text) {
  std::vector<Complaint> all;
  const config::Loaded loaded = config::load_text(text, "c.yaml");
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) {
    all.push_back({error.message, last_key(error.position.key), error.remedy.text()});
  }
  if (!all.empty()) return all;
  test::ScriptedKernel kernel{test::machine("").cgroupfs};
  const auto planned = test::plan_of(loaded.config, test::machine(machine), kernel);
  for (const yaml::Diagnostic& error : planned.errors) {
    all.push_back({without_position(error.message), {}, error.remedy.text()});
  }
  for (const EventAvailability& event : planned.events) {
    if (event.available) continue;
    all.push_back({without_position(event.reason.attempted), {}, event.reason.remedy.text()});
  }
  return all;
}

/// `text` as the remedy says; `event` is the event in it. Empty: the remedy has nothing to write.
std::string followed(const std::string& text, const std::string& event, const Complaint& about) {
  if (const auto meant = quoted(about.remedy, "did you mean ")) {
    return replaced(text, last_quoted(about.what).value_or(about.key), *meant);
  }
  if (const auto spelling = quoted(about.remedy, "without the PMU: ")) {
    return replaced(text, event, *spelling);
  }
  const auto written = quoted(about.remedy, "write ");
  if (written == "optional: true") return replaced(text, "scope: ", "optional: true, scope: ");
  const auto term = quoted(about.what, " has no event ");
  if (written) {
    std::string numbered = *written;
    while (numbered.find("NUMBER") != std::string::npos) {
      numbered = replaced(numbered, "NUMBER", "1");
    }
    return replaced(text, term ? *term : event, numbered);
  }
  if (about.remedy.starts_with("write scope: cpu")) {
    return replaced(text, "scope: [cpu, cgroup]", "scope: cpu");
  }
  return {};
}

bool is_still_there(const std::string& machine, const std::string& text, const Complaint& about) {
  for (const Complaint& complaint : complaints(machine, text)) {
    if (complaint.what == about.what && text.find("optional") == std::string::npos) return true;
  }
  return false;
}

TEST(RemediesTest, TheErrorOfAnEventDoesNotReturnWhenItsRemedyIsFollowed) {
  struct Row {
    const char* machine;
    const char* event;
  };
  const Row rows[] = {
      {"intel_client", "cylces"},
      {"intel_client", "page_faults"},
      {"intel_client", "energy-pkg"},
      {"intel_client", "rc6-residency"},
      {"intel_client", "cycles:h"},
      {"intel_client", "LLC-loads:ukI"},
      {"intel_client", "cs:u"},
      {"intel_client", "power/energy-pkg/u"},
      {"intel_client", "msr/aperff/"},
      {"intel_client", "TSC"},
      {"intel_client", "cpu/event=0x3c,umsk=1/"},
      {"intel_client", "cpu/umask/"},
      {"intel_client", "cpu/mem-load/"},
      {"intel_client", "cpu/INST_RETIRED.ANY/"},
      {"intel_client", "uncore_cbx/clockticks/"},
      {"intel_client", "sched:sched_swich"},
      {"intel_hybrid", "cpu_cor/cycles/"},
      {"intel_hybrid", "cpu_core/INST_RETIRED.ANY/"},
      {"intel_hybrid", "cpu_atom/MEM_LOAD_UOPS_RETIRED.L3_HIT/"},
      {"intel_hybrid", "cpu/l2_rqsts.miss/"},
      {"intel_server", "uncore_cha/UNC_CHA_TOR_INSERTS.IA_MISS/"},
      {"intel_server", "uncore_imc/cas_count_red/"},
      {"arm_neoverse", "arm_cmn/watchpoint_up/"},
      {"arm_neoverse", "arm_cmn/watchpoint_up,wp_grp=0/"},
      {"amd_zen", "mem-loads"},
      {"amd_zen", "topdown-retiring"},
      {"amd_zen", "cpu/topdown-retiring/"},
      {"amd_zen", "cpu_core/cycles/"},
  };

  for (const Row& row : rows) {
    const std::string event = row.event;
    const std::string text =
        "groups:\n  - {name: a, events: ['" + event + "', cs], scope: [cpu, cgroup]}\n";
    const std::vector<Complaint> before = complaints(row.machine, text);
    ASSERT_FALSE(before.empty()) << event;

    const std::string after = followed(text, event, before.front());

    ASSERT_FALSE(after.empty()) << before.front().what << ": " << before.front().remedy;
    EXPECT_FALSE(is_still_there(row.machine, after, before.front())) << after;
  }
}

TEST(RemediesTest, NoNameIsSuggestedInPlaceOfItself) {
  for (const std::string machine : {"intel_client", "intel_hybrid", "amd_zen", "arm_neoverse"}) {
    for (const char* event : {"cylces", "mem-loads", "RAPL_ENERGY_PKG", "TSC", "Cycles", "slots",
                              "power/energy-ram/", "INST_RETIRED.ANY_X", "duration_time"}) {
      const std::string text =
          "groups:\n  - {name: a, events: [" + std::string(event) + ", cs], scope: cpu}\n";
      for (const Complaint& complaint : complaints(machine, text)) {
        EXPECT_NE(quoted(complaint.remedy, "did you mean "), event) << machine;
        EXPECT_NE(quoted(complaint.remedy, "write "), event) << machine;
      }
    }
  }
}

TEST(RemediesTest, TheErrorOfAKeyDoesNotReturnWhenItsRemedyIsFollowed) {
  const std::string group = "groups:\n  - {name: a, events: [cs], scope: cpu";
  for (const std::string& text :
       {group + ", optionl: true}\n", group + ", agregate: core}\n", group + "u}\n",
        group + ", aggregate: cor}\n", group + "}\ncolection: {interval: 1s}\n",
        group + "}\ncollection: {intervall: 1s}\n", group + "}\ncgroups: {exlude: []}\n"}) {
    const std::vector<Complaint> before = complaints("intel_client", text);
    ASSERT_FALSE(before.empty()) << text;

    const std::string after = followed(text, "", before.front());

    ASSERT_FALSE(after.empty()) << before.front().what << ": " << before.front().remedy;
    EXPECT_FALSE(is_still_there("intel_client", after, before.front())) << after;
  }
}

}  // namespace
}  // namespace pex::plan
