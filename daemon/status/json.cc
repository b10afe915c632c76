// Boost.JSON without its library: its sources, compiled here once.
#include <boost/json/src.hpp>
