#include "exposition/labels.h"

#include <string_view>

#include "base/utf8.h"
#include "support/test_headers.h"

namespace pex::exposition {
namespace {

TEST(EscapeLabelTest, EscapesWhatTheFormatAsksForAndReplacesWhatIsNotUtf8) {
  struct Row {
    std::string value;
    std::string escaped;
  };
  const Row rows[] = {
      {"", ""},
      {"/system.slice/a.service", "/system.slice/a.service"},
      {"a\\x2db", "a\\\\x2db"},
      {"say \"x\"", "say \\\"x\\\""},
      {"a\nb", "a\\nb"},
      {"{}=,", "{}=,"},
      {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F"},
      {"\xE2\x82\xAC", "\xE2\x82\xAC"},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
      {"a\xFFz", "a\uFFFDffz"},
      {"\x80", "\uFFFD80"},
      {"\xC3", "\uFFFDc3"},                                      // cut short
      {"\xC3(", "\uFFFDc3("},                                    // not continued
      {"\xE2\x82", "\uFFFDe2\uFFFD82"},                          // cut short
      {"\xE2\x82\"", "\uFFFDe2\uFFFD82\\\""},                    // what follows is still escaped
      {"\xC0\xAF", "\uFFFDc0\uFFFDaf"},                          // overlong '/'
      {"\xE0\x80\xAF", "\uFFFDe0\uFFFD80\uFFFDaf"},              // overlong '/'
      {"\xED\xA0\x80", "\uFFFDed\uFFFDa0\uFFFD80"},              // a surrogate
      {"\xF4\x90\x80\x80", "\uFFFDf4\uFFFD90\uFFFD80\uFFFD80"},  // beyond U+10FFFF
      {"\xF5\x80\x80\x80", "\uFFFDf5\uFFFD80\uFFFD80\uFFFD80"},
      {"\uFFFD", "\uFFFDef\uFFFDbf\uFFFDbd"},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(escape_label(row.value), row.escaped);
  }
}

TEST(EscapeLabelTest, ReplacesWhatTerminalsTakeForCommands) {
  EXPECT_EQ(escape_label("\x1b]0;x\x07"), "\uFFFD1b]0;x\uFFFD07");
  EXPECT_EQ(escape_label(std::string("a\0\t\r\x7f", 5)), "a\uFFFD00\uFFFD09\uFFFD0d\uFFFD7f");
  EXPECT_EQ(escape_label("\u009b2J"), "\uFFFDc2\uFFFD9b2J");  // C1
  EXPECT_EQ(escape_label("\u0080\u009f"), "\uFFFDc2\uFFFD80\uFFFDc2\uFFFD9f");
  EXPECT_EQ(escape_label("~ \u00a0"), "~ \u00a0");  // their neighbours
}

RC_GTEST_PROP(EscapeLabelTest, LeavesNoControlCharacterWhateverTheBytes, (std::string value)) {
  const std::string escaped = escape_label(value + "\u009b");

  for (std::string_view text = escaped; !text.empty();) {
    const Character character = first_character(text);
    RC_ASSERT(character.bytes > 0U);
    RC_ASSERT(character.code >= 0x20U && (character.code < 0x7fU || character.code > 0x9fU));
    text.remove_prefix(character.bytes);
  }
}

RC_GTEST_PROP(EscapeLabelTest, KeepsDifferentValuesDifferent, ()) {
  // Few bytes, of which many are not UTF-8, so that near misses are common.
  const auto value = rc::gen::container<std::string>(
      rc::gen::element('f', 'e', '1', 'b', '\x1b', '\xC2', '\x9b', '\xEF', '\xBF', '\xBD', '\xFF',
                       '\xFE', '\\', '"', 'n', '\n'));
  const std::string one = *value;
  const std::string other = *value;

  RC_ASSERT((one == other) == (escape_label(one) == escape_label(other)));
}

RC_GTEST_PROP(EscapeLabelTest, LeavesNothingThatWouldEndTheLabel, (std::string value)) {
  const std::string escaped = escape_label(value);

  for (std::size_t i = 0; i < escaped.size(); ++i) {
    RC_ASSERT(escaped[i] != '\n');
    RC_ASSERT(escaped[i] != '"');
    if (escaped[i] != '\\') continue;
    ++i;
    RC_ASSERT(i < escaped.size());
    RC_ASSERT(escaped[i] == '\\' || escaped[i] == '"' || escaped[i] == 'n');
  }
}

RC_GTEST_PROP(SplitLabelsTest, GivesBackWhatWasJoined, ()) {
  const auto values = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::element('a', '"', '\\', '\n', ',', '=', 'n')));
  std::string joined;
  for (const std::string& value : values) joined = join_labels({joined, label("name", value)});

  const auto split = split_labels(joined);

  RC_ASSERT(split.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    RC_ASSERT(split[i] == std::make_pair(std::string("name"), values[i]));
  }
}

}  // namespace
}  // namespace pex::exposition
