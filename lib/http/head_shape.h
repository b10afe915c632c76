#pragma once

namespace pex::http {

/// Follows the bytes of one request head (RFC 9112, 2.1), one at a time, and refuses every shape
/// that two readers might understand differently: bare CR or LF, control characters, a folded
/// field, blanks before the colon of a field or before the head. Beast takes some of these. Knows
/// no limit and no meaning.
class HeadShape {
 public:
  enum class Verdict {
    kGoesOn,
    kWhole,    ///< that was the last byte of the head
    kRefused,  ///< whatever may follow
  };

  /// Must not be called again after kWhole or kRefused.
  Verdict take(char byte);

 private:
  /// What the next byte is part of.
  enum class Place {
    kHeadStart,
    kRequestLine,
    kLineEnd,  ///< LF, as CR was there
    kLineStart,
    kName,
    kValue,
    kHeadEnd,  ///< LF of the empty line
  };

  Place place_ = Place::kHeadStart;
};

}  // namespace pex::http
