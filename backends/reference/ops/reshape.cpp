// reshape: the same elements in the same order.
#include "kernels.hpp"

#include <algorithm>

namespace convoy::reference {

namespace {

void copy(const KernelArgs& a) { std::copy_n(a.in<Scalar>(0), a.node.in[0].elements(), a.out<Scalar>(0)); }

}  // namespace

sdk::KernelTable reshape_kernels() { return {{Op::reshape, copy}}; }

}  // namespace convoy::reference
