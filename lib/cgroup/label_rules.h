#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cgroup/pattern.h"

namespace pex::cgroup {

/// Name and value.
using Label = std::pair<std::string, std::string>;

/// A text with references that a match replaces: $0 is the whole path, $1 to $9 are the groups of
/// the pattern, $$ is a dollar. "$12" is the first group and a 2.
class Template {
 public:
  static constexpr std::size_t kMaxGroups = 9;  ///< highest group number

  /// `groups` is the number of groups of the pattern. The Error describes the text's fault and its
  /// remedy, without quoting the text.
  static Result<Template> parse(std::string_view text, std::size_t groups);

  /// `captured` is the result of Pattern::capture for the same pattern.
  std::string fill(const std::vector<std::string>& captured) const;

  bool operator==(const Template&) const = default;

 private:
  /// A text, and the group that follows it; the last piece may have none.
  struct Piece {
    std::string text;
    std::optional<std::size_t> group;

    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces_;
};

/// In bytes as published: longer values are never published.
inline constexpr std::size_t kMaxLabelBytes = 1024;

/// The labels that an operator's rules give to cgroups.
class LabelRules {
 public:
  struct Setting {
    std::string label;
    Template value;

    bool operator==(const Setting&) const = default;
  };
  struct Rule {
    Pattern match;
    std::vector<Setting> set;

    bool operator==(const Rule&) const = default;
  };

  LabelRules() = default;
  explicit LabelRules(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  /// The labels of a cgroup, by name, each name once. The rules are tried in order, and the first
  /// that sets a label decides it. An empty value sets nothing, so that a later rule may.
  std::vector<Label> labels_of(std::string_view path) const;

  bool operator==(const LabelRules&) const = default;

 private:
  std::vector<Rule> rules_;
};

}  // namespace pex::cgroup
