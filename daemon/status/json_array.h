#pragma once

#include <boost/json/array.hpp>

namespace pex::daemon {

/// An array of `to_json(each)` for each of `list`.
template <typename List, typename ToJson>
boost::json::array json_array(const List& list, const ToJson& to_json) {
  boost::json::array array;
  for (const auto& each : list) array.emplace_back(to_json(each));
  return array;
}

}  // namespace pex::daemon
