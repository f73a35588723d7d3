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

const FlatKernels* usable_flat(int i) {
  const FlatKernels* found[4] = {&flat_base::table()};
  [[maybe_unused]] int n = 1;
#ifdef CONVOY_CPU_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) found[n++] = &flat_avx2::table();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    found[n++] = &flat_avx512::table();
#endif
  return i < 4 ? found[i] : nullptr;
}

namespace {

const FlatKernels& best() {
  int i = 0;
  while (usable_flat(i + 1) != nullptr) ++i;
  return *usable_flat(i);
}

}  // namespace

const FlatKernels& flat() {
  static const FlatKernels& chosen = best();
  return chosen;
}

}  // namespace convoy::cpu
