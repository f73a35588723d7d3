// The reference kernels: plain loops, one operator a function, for the whole catalogue. Correct before anything else.
// The scalar type of f32 tensors is a build setting, so that tests can run the very same code in double.
#pragma once

#include <convoy/sdk/kernels.hpp>

#ifndef CONVOY_REFERENCE_SCALAR
#define CONVOY_REFERENCE_SCALAR float
#endif

namespace convoy::reference {

using Scalar = CONVOY_REFERENCE_SCALAR;
using sdk::KernelArgs;

/// All kernels; one stem in ops/ each.
const sdk::KernelTable& kernels();

}  // namespace convoy::reference
