// add, add_n and weighted_sum: sums of equal shapes, in the order of the inputs.
#include "kernels.hpp"

namespace convoy::reference {

namespace {

template <class Weight>
void sum(const KernelArgs& a, Weight weight) {
  const int64_t n = a.node.out[0].elements();
  for (int64_t i = 0; i < n; ++i) {
    double total = 0;
    for (std::size_t k = 0; k < a.node.in.size(); ++k) total += weight(k) * static_cast<double>(a.in<Scalar>(k)[i]);
    a.out<Scalar>(0)[i] = static_cast<Scalar>(total);
  }
}

void plain(const KernelArgs& a) {
  sum(a, [](std::size_t) { return 1.0; });
}

void weighted(const KernelArgs& a) {
  const auto attrs = a.node.attrs<WeightedSumAttrs>();
  sum(a, [&](std::size_t k) { return attrs.weight[k]; });
}

}  // namespace

sdk::KernelTable add_kernels() { return {{Op::add, plain}, {Op::add_n, plain}, {Op::weighted_sum, weighted}}; }

}  // namespace convoy::reference
