// How often this test program has asked for memory; only differences are of interest.
#pragma once

#include <cstddef>

namespace convoy::record::test {

std::size_t allocation_count();

}  // namespace convoy::record::test
