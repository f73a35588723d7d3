#include "kernels/flat.hpp"

namespace convoy::cpu {

namespace flat_base {
const FlatKernels& table();
}
#ifdef CONVOY_CPU_X86
namespace flat_avx2 {
const FlatKernels& table();
}
namespace flat_avx512 {
const FlatKernels& table();
}
#endif

namespace {

const FlatKernels& best() {
#ifdef CONVOY_CPU_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return flat_avx512::table();
  if (__builtin_cpu_supports("avx2")) return flat_avx2::table();
#endif
  return flat_base::table();
}

}  // namespace

const FlatKernels& flat() {
  static const FlatKernels& chosen = best();
  return chosen;
}

}  // namespace convoy::cpu
