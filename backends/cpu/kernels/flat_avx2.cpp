// The flat loops for one instruction set: compiled with its flags (see CMakeLists.txt), called only where it exists.
#include "kernels/flat.hpp"

#include <cstddef>

#define CONVOY_FLAT_NAME "avx2"

namespace convoy::cpu::flat_avx2 {

#include "kernels/flat_loops.inc"

}  // namespace convoy::cpu::flat_avx2
