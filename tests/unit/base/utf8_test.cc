#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pex {
namespace {

TEST(CharacterTest, IsReadOffTheStartOfAText) {
  struct Row {
    std::string_view text;
    std::uint32_t code;
    std::size_t bytes;
  };
  const Row rows[] = {
      {"a", 'a', 1},
      {std::string_view("\0", 1), 0, 1},
      {"\xc3\xa9t", 0xe9, 2},
      {"\xe2\x82\xac", 0x20ac, 3},
      {"\xf0\x9f\x90\x98", 0x1f418, 4},
      {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
      // not UTF-8: a byte within a character, cut off, too long a form, a surrogate, beyond
      {"\xa9", 0, 0},
      {"\xc3", 0, 0},
      {"\xe2\x82", 0, 0},
      {"\xc3(", 0, 0},
      {"\xc0\xaf", 0, 0},
      {"\xe0\x80\xaf", 0, 0},
      {"\xed\xa0\x80", 0, 0},
      {"\xf4\x90\x80\x80", 0, 0},
      {"\xff", 0, 0},
  };
  for (const Row& row : rows) {
    const Character character = first_character(row.text);

    EXPECT_EQ(character.bytes, row.bytes) << row.text;
    EXPECT_EQ(character.code, row.code) << row.text;
  }
}

TEST(Utf8Test, LeavesTextAsItIs) { EXPECT_EQ(as_utf8("caf\xc3\xa9 \n\"\\"), "caf\xc3\xa9 \n\"\\"); }

TEST(Utf8Test, ShowsOtherBytesInHexadecimal) {
  EXPECT_EQ(as_utf8("caf\xe9!"), "caf\uFFFDe9!");
  EXPECT_EQ(as_utf8("\uFFFD"), "\uFFFDef\uFFFDbf\uFFFDbd");
}

TEST(PrintableTest, LeavesPlainTextAsItIs) {
  for (const char* text : {"", "a b", "caf\u00e9 \\ \"", "\u65e5\u672c", "\U0001f600"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(PrintableTest, EscapesWhatTerminalsTakeForCommands) {
  EXPECT_EQ(printable("\x1b]0;pwned\x07"), "\\u001b]0;pwned\\u0007");
  EXPECT_EQ(printable("a\nb\tc\x7f"), "a\\u000ab\\u0009c\\u007f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m");  // C1 as UTF-8
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\uFFFD9b31m");  // and as a byte
}

TEST(PrintableTest, EscapesWhatBreaksOrTurnsALine) {
  EXPECT_EQ(printable("a\u2028b\u2029"), "a\\u2028b\\u2029");
  EXPECT_EQ(printable("\u202egnp.exe\u202c"), "\\u202egnp.exe\\u202c");
  EXPECT_EQ(printable("\u2066\u2069\u200f\u061c"), "\\u2066\\u2069\\u200f\\u061c");
}

RC_GTEST_PROP(PrintableTest, HasNoControlCharacterWhateverTheBytes, (const std::string& bytes)) {
  const std::string shown = printable(bytes);
  for (std::string_view text = shown; !text.empty();) {
    const Character character = first_character(text);
    RC_ASSERT(character.bytes > 0U);
    RC_ASSERT(character.code >= 0x20U && (character.code < 0x7fU || character.code > 0x9fU));
    text.remove_prefix(character.bytes);
  }
  RC_ASSERT(printable(shown) == shown);
}

}  // namespace
}  // namespace pex
