#include "http/head_shape.h"

#include <optional>
#include <string_view>

namespace pex::http {
namespace {

constexpr char kDelete = 0x7f;

bool is_letter_or_digit(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

/// A character of a method or of a field's name (RFC 9110, 5.6.2).
bool is_token(char byte) {
  return is_letter_or_digit(byte) ||
         (byte != '\0' && std::string_view{"!#$%&'*+-.^_`|~"}.find(byte) != std::string_view::npos);
}

bool is_visible(char byte) { return byte > ' ' && byte < kDelete; }

/// A character of a field's value (RFC 9110, 5.5): `char` may be signed, so the upper half is below
/// 0.
bool is_value(char byte) {
  return is_visible(byte) || byte == ' ' || byte == '\t' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

}  // namespace

HeadShape::Verdict HeadShape::take(char byte) {
  std::optional<Place> next;  // nothing: refused
  switch (place_) {
    case Place::kHeadStart:
      if (is_token(byte)) next = Place::kRequestLine;
      break;
    case Place::kRequestLine:
      if (is_visible(byte) || byte == ' ') next = Place::kRequestLine;
      if (byte == '\r') next = Place::kLineEnd;
      break;
    case Place::kLineEnd:
      if (byte == '\n') next = Place::kLineStart;
      break;
    case Place::kLineStart:
      if (is_token(byte)) next = Place::kName;
      if (byte == '\r') next = Place::kHeadEnd;
      break;
    case Place::kName:
      if (is_token(byte)) next = Place::kName;
      if (byte == ':') next = Place::kValue;
      break;
    case Place::kValue:
      if (is_value(byte)) next = Place::kValue;
      if (byte == '\r') next = Place::kLineEnd;
      break;
    case Place::kHeadEnd:
      return byte == '\n' ? Verdict::kWhole : Verdict::kRefused;
  }
  if (!next) return Verdict::kRefused;
  place_ = *next;
  return Verdict::kGoesOn;
}

}  // namespace pex::http
