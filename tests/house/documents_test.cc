// g++ 12 takes parts of std::regex's automaton for uninitialized where AddressSanitizer is in it.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// What the documents show an operator holds: each configuration loads and can be planned, and what
// queries ask for is what such a configuration publishes.

#include <algorithm>
#include <iterator>
#include <regex>
#include <string_view>

#include "base/result.h"
#include "config/default_config.h"
#include "config/load.h"
#include "docs/generator/key_texts.h"
#include "exposition/evidence_families.h"
#include "exposition/metric_names.h"
#include "exposition/self_families.h"
#include "host/kernel_faults.h"
#include "plan/plan.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::filesystem::path kRoot = PEX_SOURCE_DIR;

/// A part of a document between two headings of the second level: one recipe, for example.
struct Chapter {
  std::string name;  ///< "docs/recipes.md: 3. Has a service become slow ..."
  std::vector<std::string> configurations;
  std::vector<std::string> queries;  ///< what stands in one block
};

std::set<std::string> top_level_keys() {
  std::set<std::string> keys;
  for (const yaml::KeyReference& key : config::configuration_keys()) {
    if (key.map.empty()) keys.insert(key.name);
  }
  return keys;
}

/// A rule file of Prometheus: its groups have rules.
bool is_rule_file(const std::string& yaml) {
  return yaml.starts_with("groups:\n") && yaml.find("\n    rules:\n") != std::string::npos;
}

/// Whether all keys at the left edge are those of a configuration: others are Prometheus', or
/// belong to the web configuration.
bool is_configuration(const std::string& yaml) {
  if (is_rule_file(yaml)) return false;
  static const std::set<std::string> known = top_level_keys();
  std::istringstream lines(yaml);
  std::set<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == ' ' || line[0] == '#') continue;
    found.insert(line.substr(0, line.find(':')));
  }
  return !found.empty() && std::includes(known.begin(), known.end(), found.begin(), found.end());
}

/// The blocks of a document; those that are indented, as in a list, without their indentation.
std::vector<Chapter> chapters_of(const std::filesystem::path& path) {
  const std::string file = path.lexically_relative(kRoot);
  std::vector<Chapter> chapters = {{file, {}, {}}};
  std::ifstream lines(path);
  std::string language, block;
  std::size_t indent = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t fence = line.find("```");
    const bool is_fence = fence != line.npos && line.find_first_not_of(' ') == fence;
    if (language.empty() && is_fence) {
      language = line.substr(fence + 3) + " ";
      indent = fence;
      block.clear();
    } else if (is_fence) {
      if (language == "yaml " && is_configuration(block)) {
        chapters.back().configurations.push_back(block);
      }
      const bool has_rules = language == "yaml " && is_rule_file(block);
      if (language == "promql " || has_rules) chapters.back().queries.push_back(block);
      language.clear();
    } else if (!language.empty()) {
      block += line.substr(std::min(indent, line.size())) + "\n";
    } else if (line.starts_with("## ")) {
      chapters.push_back({file + ": " + line.substr(3), {}, {}});
    }
  }
  return chapters;
}

std::vector<Chapter> all_chapters() {
  std::vector<std::filesystem::path> pages = {kRoot / "README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::vector<Chapter> all;
  for (const std::filesystem::path& page : pages) {
    for (Chapter& chapter : chapters_of(page)) all.push_back(std::move(chapter));
  }
  return all;
}

const config::Config& shipped() {
  static const config::Config config = config::load_text(config::kDefaultConfig, "default").config;
  return config;
}

/// A block that shows some other keys alone is about the groups of the shipped file.
config::Loaded load_block(const std::string& yaml) {
  const bool has_groups = ("\n" + yaml).find("\ngroups:") != std::string::npos;
  if (has_groups) return config::load_text(yaml, "block");
  const std::string some_group = "groups: [{name: a, events: [cycles], scope: cpu}]\n";
  config::Loaded loaded = config::load_text(yaml + some_group, "block");
  loaded.config.groups = shipped().groups;
  return loaded;
}

std::string lines_of(const std::vector<yaml::Diagnostic>& errors) {
  std::string all;
  for (const yaml::Diagnostic& error : errors) all += describe(error) + "\n";
  return all;
}

/// One kind of machine each; together they have what the documents count. Ours has tracepoints.
std::vector<std::filesystem::path> machines() {
  std::vector<std::filesystem::path> all = {kRoot / "tests/house/machine"};
  for (const auto& entry :
       std::filesystem::directory_iterator(kRoot / "tests/unit/events/machines")) {
    if (entry.is_directory()) all.push_back(entry.path());
  }
  return all;
}

Result<plan::Plan, std::vector<yaml::Diagnostic>> plan_on(const std::filesystem::path& machine,
                                                          const config::Config& config) {
  const host::HostRoots roots{machine / "sys", machine / "proc", {}};
  const auto resolver = events::EventResolver::create(roots);
  if (!resolver) throw std::runtime_error(describe(resolver.error()));
  test::ScriptedKernel kernel;
  return plan::make_plan(config, plan::Machine{*resolver, kernel, {0}});
}

std::string errors_on(const std::filesystem::path& machine, const config::Config& config) {
  const auto plan = plan_on(machine, config);
  return plan ? "" : lines_of(plan.error());
}

/// Those that every configuration publishes, or can be asked to.
std::set<std::string> fixed_families() {
  std::set<std::string> names = {"perf_cgroup_info"};
  for (const exposition::FamilyEntry& row : exposition::kSelfFamilies) names.emplace(row.name);
  for (const exposition::FamilyEntry& row : exposition::kProcessFamilies) names.emplace(row.name);
  for (const exposition::FamilyEntry& row : exposition::evidence_families()) {
    names.emplace(row.name);
  }
  return names;
}

/// What `config` publishes of events, on any of the machines.
std::set<std::string> event_families(const config::Config& config) {
  std::set<std::string> names;
  for (const std::filesystem::path& machine : machines()) {
    const plan::Plan plan = *plan_on(machine, config);
    for (const Scope scope : {Scope::kCpu, Scope::kCgroup}) {
      for (const auto& family : exposition::families_of(scope, plan.counting)) {
        names.insert({family.name, exposition::observed_family_name(family.name),
                      exposition::variance_family_name(family.name)});
      }
    }
  }
  return names;
}

/// Of ours, without what stands in quotes.
std::vector<std::string> metrics_in(const std::string& query) {
  const std::string code = std::regex_replace(query, std::regex("\"[^\"]*\"|#[^\n]*"), "");
  const std::regex name("\\b(?:perf|process)_[a-z0-9_]+");
  std::vector<std::string> names;
  for (std::sregex_iterator at(code.begin(), code.end(), name), end; at != end; ++at) {
    const bool is_rule = at->prefix().str().ends_with(':') || at->suffix().str().starts_with(':');
    if (!is_rule) names.push_back(at->str());
  }
  return names;
}

TEST(DocumentsTest, HaveConfigurationsAndQueries) {
  std::size_t configurations = 0, queries = 0;
  for (const Chapter& chapter : all_chapters()) {
    configurations += chapter.configurations.size();
    queries += chapter.queries.size();
  }

  EXPECT_GE(configurations, 12U);
  EXPECT_GE(queries, 12U);
}

TEST(DocumentsTest, TheirConfigurationsHaveNoErrors) {
  for (const Chapter& chapter : all_chapters()) {
    for (const std::string& yaml : chapter.configurations) {
      EXPECT_EQ(lines_of(load_block(yaml).diagnostics.errors()), "") << chapter.name << "\n"
                                                                     << yaml;
    }
  }
}

TEST(DocumentsTest, TheirConfigurationsCanBePlannedOnEveryKindOfMachine) {
  for (const Chapter& chapter : all_chapters()) {
    for (const std::string& yaml : chapter.configurations) {
      const config::Loaded loaded = load_block(yaml);
      for (const std::filesystem::path& machine : machines()) {
        EXPECT_EQ(errors_on(machine, loaded.config), "")
            << chapter.name << " on " << machine.filename() << "\n"
            << yaml;
      }
    }
  }
}

/// A chapter's queries are about its own configurations; without one, about the default.
TEST(DocumentsTest, TheirQueriesAskForMetricsThatTheirConfigurationPublishes) {
  const std::set<std::string> fixed = fixed_families();
  const std::set<std::string> of_shipped = event_families(shipped());

  for (const Chapter& chapter : all_chapters()) {
    if (chapter.queries.empty()) continue;
    std::set<std::string> published = fixed;
    if (chapter.configurations.empty()) published.insert(of_shipped.begin(), of_shipped.end());
    for (const std::string& yaml : chapter.configurations) {
      published.merge(event_families(load_block(yaml).config));
    }
    for (const std::string& query : chapter.queries) {
      for (const std::string& metric : metrics_in(query)) {
        EXPECT_THAT(published, Contains(metric)) << chapter.name;
      }
    }
  }
}

TEST(DocumentsTest, EveryRecipeHasAConfigurationAndAQuery) {
  std::vector<Chapter> recipes = chapters_of(kRoot / "docs/recipes.md");
  recipes.erase(recipes.begin());  // what stands before the first heading

  ASSERT_THAT(recipes, SizeIs(Gt(9U)));
  for (const Chapter& recipe : recipes) {
    EXPECT_THAT(recipe.configurations, SizeIs(1)) << recipe.name;
    EXPECT_THAT(recipe.queries, testing::Not(IsEmpty())) << recipe.name;
  }
}

/// Those of config/, but for the one web configuration.
std::vector<std::filesystem::path> shipped_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "config")) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".yaml" && path.filename() != "web.yaml") files.push_back(path);
  }
  return files;
}

TEST(ShippedFilesTest, CanBePlannedOnEveryKindOfMachine) {
  ASSERT_THAT(shipped_files(), SizeIs(Gt(3U)));
  for (const std::filesystem::path& file : shipped_files()) {
    const Result<config::Loaded> loaded = config::load_file(file);
    ASSERT_TRUE(loaded && !loaded->diagnostics.has_errors()) << file;
    for (const std::filesystem::path& machine : machines()) {
      EXPECT_EQ(errors_on(machine, loaded->config), "") << file << " on " << machine.filename();
    }
  }
}

/// What is used where no file is given is the file that is shipped.
TEST(DocumentsTest, NameTheKernelsOfEachFaultThatIsFoundByATrial) {
  std::ifstream file(kRoot / "docs/metrics.md");
  std::string text, word;
  while (file >> word) text += word + " ";
  for (const host::KernelFault& fault : host::kKernelFaults) {
    EXPECT_NE(text.find(fault.kernels), std::string::npos) << fault.kernels;
  }
}

TEST(DefaultConfigTest, IsTheShippedFile) {
  std::ifstream file(kRoot / "config/perf_event_exporter.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  EXPECT_EQ(config::kDefaultConfig, text);
}

TEST(KeyTextsTest, AreThoseOfAllKeys) {
  std::set<std::string> paths;
  for (const yaml::KeyReference& key : config::configuration_keys()) {
    EXPECT_THAT(docs::meaning_of(key), EndsWith(".")) << path_of(key);
    paths.insert(path_of(key));
  }
  for (const docs::KeyTextEntry& entry : docs::kKeyTexts) {
    EXPECT_THAT(paths, Contains(std::string(entry.path)));
  }
}

std::string without_backticks(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return text;
}

/// generate_docs writes these comments.
TEST(KeyTextsTest, AreInTheShippedFileWithTheDefaultInOneLine) {
  std::ifstream file{kRoot / "config/perf_event_exporter.yaml"};
  const std::string shipped{std::istreambuf_iterator<char>(file), {}};

  for (const yaml::KeyReference& key : config::configuration_keys()) {
    if (key.map.find("[]") != key.map.npos || key.form == "map") continue;
    const std::string indent = key.map.empty() ? "" : "  ";
    const std::string fallback = key.unwritten.empty() ? "" : " Default: " + key.unwritten + ".";
    const std::string summary = docs::summary_of(docs::meaning_of(key));
    const std::string comment = indent + "# " + without_backticks(summary + fallback);
    EXPECT_THAT(shipped, HasSubstr("\n" + comment + "\n" + indent + key.name + ":"));
    EXPECT_LE(comment.size(), 100U) << comment;
  }
}

TEST(KeyTextsTest, BeginWithASummary) {
  EXPECT_EQ(docs::summary_of("Maximum age, such as 1.5s; older counts are read first. One read."),
            "Maximum age, such as 1.5s; older counts are read first.");
  EXPECT_EQ(docs::summary_of("Help text of the metric."), "Help text of the metric.");
}

}  // namespace
}  // namespace pex
