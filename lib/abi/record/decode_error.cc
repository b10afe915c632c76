#include "abi/record/decode_error.h"

#include "abi/record/record.h"

namespace pex::perf {
namespace {

std::string subject(std::uint32_t record_type) {
  if (record_type == 0) return "the buffer";
  const std::string_view name = record_name(record_type);
  return name.empty() ? "a record of type " + std::to_string(record_type) : std::string(name);
}

std::string what_is_wrong(const DecodeError& error) {
  const std::string needed = std::to_string(error.needed);
  const std::string left = std::to_string(error.left);
  switch (error.reason) {
    case DecodeError::Reason::kTooShort:
      return "needs " + needed + " bytes, and " + left + " are left";
    case DecodeError::Reason::kUnterminated:
      return "has no zero byte within the " + left + " bytes that are left";
    case DecodeError::Reason::kUnknownValue:
      return "has the unknown value " + needed;
    case DecodeError::Reason::kLeftOver:
      return "is followed by " + left + " bytes that belong to no field";
    case DecodeError::Reason::kShifted:
      return "is not where it belongs: the kernel wrote too much before it";
    case DecodeError::Reason::kWrongSize:
      return "is " + needed + ", and the record has " + left + " bytes";
  }
  return {};
}

}  // namespace

std::string describe(const DecodeError& error) {
  return subject(error.record_type) + " cannot be decoded: '" + std::string(error.field) +
         "' at byte " + std::to_string(error.offset) + " " + what_is_wrong(error);
}

}  // namespace pex::perf
