// SGD of many parameters in one launch: a network has hundreds, most of them small, and a launch each costs more than
// their bytes do. The rule is kernels.hpp's sgd.
#pragma once

#include "kernels/kernels.hpp"

namespace convoy::cuda {

/// All with the same lr, skip flag, constants and, where they have a copy, its type (bf16 or f16); `args`: host memory, read during the call. grad is f32.
cudaError_t sgd_many(const SgdArgs* args, int n, cudaStream_t s);

}  // namespace convoy::cuda
