// Integers of 128 bits: what products of two sizes fit in.
#pragma once

#if defined(__SIZEOF_INT128__)
namespace intarsia {
using Int128 = __int128;
}  // namespace intarsia
#else
#include <boost/multiprecision/cpp_int.hpp>

namespace intarsia {
using Int128 = boost::multiprecision::int128_t;
}  // namespace intarsia
#endif
