#include "yaml/file.h"

#include <fmt/core.h>

#include <cerrno>

#include "base/lookup.h"
#include "base/small_file.h"
#include "yaml/plain_text.h"

namespace pex::yaml {
namespace {

struct FileRemedy {
  int code;
  std::string_view remedy;
  bool names_option = false;  ///< which completes the text
};
constexpr FileRemedy kFileRemedies[] = {
    {ENOENT, "create the file, or set another one with ", true},
    {ENOTDIR, "a part of this path is a file; correct ", true},
    {ELOOP, "a link leads back to itself; replace it by the file, or correct ", true},
    {EISDIR, "name a file in this directory"},
    {EACCES, "let the user of this process read the file and enter the directories above it"},
    {EMFILE, "raise the limit of open files of this process (ulimit -n)"},
    {ENFILE, "raise the sysctl fs.file-max"},
    {EAGAIN, "another process holds a lease on the file (fcntl(2)); end it, or copy the file"},
};

std::string about_size(const FileKind& kind) {
  return fmt::format("a {} is 1 MiB at most; is this the right file?", kind.noun);
}

Remedy remedy_for(int code, const FileKind& kind) {
  if (code == EFBIG) return about_size(kind);
  const FileRemedy* found = lookup(kFileRemedies, &FileRemedy::code, code);
  if (found == nullptr) return "check the file and the disk it is on";
  return found->names_option ? Remedy(found->remedy) + kind.option : Remedy(found->remedy);
}

}  // namespace

Result<std::string> read_file(const std::string& path, const FileKind& kind) {
  Result<std::string> text = read_small_file(path, kMaxFileBytes, "the " + std::string(kind.noun));
  if (!text && text.error().remedy.empty()) {
    text.error().remedy = remedy_for(text.error().code, kind);
  }
  return text;
}

std::optional<Node> read_tree(std::string_view text, const std::string& name, const FileKind& kind,
                              Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());

  if (text.size() > kMaxFileBytes) {
    diagnostics.add({{name, 0, 0, {}}, "the text is too large", about_size(kind)});
    return {};
  }
  std::optional<Unreadable> bad = first_unreadable(text);
  if (!bad) bad = first_invisible(text);
  if (bad) {
    const Place place = place_at(text, bad->offset);
    diagnostics.add({{name, place.line, place.column, {}}, bad->what, bad->remedy});
    return {};
  }
  return parse_yaml(text, name, diagnostics);
}

}  // namespace pex::yaml
