#include "base/remedy.h"

#include "base/lookup.h"

namespace pex {
namespace {

struct TermEntry {
  ProgramTerm term;
  std::string_view words;
};
constexpr TermEntry kLibraryWords[] = {
    {ProgramTerm::kSysfs, "HostRoots"},
    {ProgramTerm::kProcfs, "HostRoots"},
    {ProgramTerm::kCgroupfs, "HostRoots"},
    {ProgramTerm::kConfigFile, "the configuration file"},
    {ProgramTerm::kWebConfigFile, "the web configuration file"},
    {ProgramTerm::kListenAddress, "the listen address"},
    {ProgramTerm::kSocketDirectory, "/run"},
    {ProgramTerm::kOpenFileLimit, "RLIMIT_NOFILE"},
    {ProgramTerm::kTaskLimit, "RLIMIT_NPROC"},
    {ProgramTerm::kEventList, "list_events()"},
    {ProgramTerm::kTracepointList, "list_events()"},
    {ProgramTerm::kDoctor, "a trial of pinned groups"},
    {ProgramTerm::kProgram, "this program"},
    {ProgramTerm::kService, "this program"},
    {ProgramTerm::kAdminRegained, ""},
};

}  // namespace

std::string_view library_words(ProgramTerm term) {
  return lookup(kLibraryWords, &TermEntry::term, term)->words;  // each term has an entry
}

std::string Remedy::text(ProgramWords words) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    if (const auto* term = std::get_if<ProgramTerm>(&piece)) {
      text += words(*term);
    } else {
      text += std::get<std::string>(piece);
    }
  }
  return text;
}

Remedy& Remedy::operator+=(const Remedy& more) {
  for (const Piece& piece : std::vector<Piece>(more.pieces_)) {
    if (const auto* text = std::get_if<std::string>(&piece)) {
      append(*text);
    } else {
      pieces_.push_back(piece);
    }
  }
  return *this;
}

void Remedy::append(std::string text) {
  if (text.empty()) return;
  auto* last = pieces_.empty() ? nullptr : std::get_if<std::string>(&pieces_.back());
  if (last == nullptr) {
    pieces_.emplace_back(std::move(text));
  } else {
    *last += text;
  }
}

}  // namespace pex
