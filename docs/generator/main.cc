// Writes what the documents and the shipped configuration have from tables in the code, between the
// marks of marks.h and above the keys:
//
//   generate_docs ROOT           writes each file that is out of date
//   generate_docs --check ROOT   names each file that is out of date, and ends with 1 if there is
//   one

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "marks.h"
#include "sections.h"

namespace pex::docs {
namespace {

struct Section {
  const char* file;  ///< below ROOT
  const char* name;
  std::string (*text)();
};
constexpr Section kSections[] = {
    {"docs/configuration.md", "keys", keys_for_page},
    {"packaging/man/perf_event_exporter.yaml.5.scd", "keys", keys_for_manual},
    {"docs/metrics.md", "evidence by group", group_evidence_table},
    {"docs/metrics.md", "evidence by event", event_evidence_table},
    {"docs/metrics.md", "the exporter itself", self_table},
    {"docs/metrics.md", "the process", process_table},
    {"docs/development/abi.md", "errors", error_table},
    {"docs/permissions.md", "errors and remedies", remedy_table},
    {"docs/permissions.md", "values of these settings", sysctl_values_table},
};

/// What a file holds, and what it should.
struct Page {
  std::string is;
  std::string should_be;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kShippedFile = "config/perf_event_exporter.yaml";

/// All generated files, by their paths below `root`; none when one lacks a mark.
std::optional<std::map<std::string, Page>> pages_below(const std::string& root) {
  std::map<std::string, Page> pages;
  for (const Section& section : kSections) {
    Page& page = pages[section.file];
    if (page.is.empty()) page.is = page.should_be = content_of(root + "/" + section.file);
    std::optional<std::string> text =
        renewed(page.should_be, section.name, section.text(), comment_style_of(section.file));
    if (!text) {
      std::cerr << section.file << ": has no marks for '" << section.name << "'\n";
      return {};
    }
    page.should_be = std::move(*text);
  }
  const std::string shipped = content_of(root + "/" + kShippedFile);
  pages[kShippedFile] = {shipped, with_key_comments(shipped)};
  return pages;
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  return static_cast<bool>(file.flush());
}

/// False when the file is out of date and was not written.
bool check_or_update(const std::string& root, const std::string& file, const Page& page,
                     bool only_check) {
  if (page.is == page.should_be) return true;
  if (only_check) {
    std::cerr << file << ": is not what the code generates. Remedy: run ./dev generate\n";
    return false;
  }
  std::cout << file << '\n';
  if (write(root + "/" + file, page.should_be)) return true;
  std::cerr << file << ": cannot be written\n";
  return false;
}

int run(const std::string& root, bool only_check) {
  const std::optional<std::map<std::string, Page>> pages = pages_below(root);
  if (!pages) return 1;
  bool is_current = true;
  for (const auto& [file, page] : *pages) {
    is_current = check_or_update(root, file, page, only_check) && is_current;
  }
  return is_current ? 0 : 1;
}

}  // namespace
}  // namespace pex::docs

int main(int argc, char** argv) {
  const bool only_check = argc == 3 && std::string(argv[1]) == "--check";
  if (argc != 2 && !only_check) {
    std::cerr << "Usage: generate_docs [--check] ROOT\n";
    return 2;
  }
  return pex::docs::run(argv[argc - 1], only_check);
}
