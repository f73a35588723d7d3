// dropout: y = x / (1 - p) where kept, else 0; dropout_grad the same of dy. Whether an element is kept is drawn by
// counter (Philox, see convoy/ops.hpp): the same for the same step and sample, forward and backward, on any device.
#include "kernels.hpp"

#include <convoy/sdk/philox.hpp>

namespace convoy::reference {

namespace {

/// dropout and dropout_grad are the same function: what is kept is scaled by 1 / (1 - p).
void apply(const KernelArgs& a) {
  const auto attrs = a.node.attrs<DropoutAttrs>();
  const auto* rng = a.in<int64_t>(1);
  const auto& dims = a.node.in[0].dims;
  const int64_t samples = dims.empty() ? 1 : dims[0], each = a.node.in[0].elements() / samples;
  const double threshold = attrs.p * 0x1p32;
  const auto scale = static_cast<Scalar>(1 / (1 - attrs.p));
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t e = 0; e < each; ++e) {
      const sdk::PhiloxWords counter{static_cast<uint32_t>(e / 4), static_cast<uint32_t>(rng[2] + n),
                                     static_cast<uint32_t>(rng[1]), attrs.stream};
      const auto words = sdk::philox4x32(counter, static_cast<uint64_t>(rng[0]));
      const bool keep = words[static_cast<std::size_t>(e % 4)] >= threshold;
      a.out<Scalar>(0)[n * each + e] = keep ? a.in<Scalar>(0)[n * each + e] * scale : Scalar{0};
    }
}

std::string refuse(const NodeView& n) { return f32_but(n, {{false, 1, DType::i64}}); }

}  // namespace

sdk::KernelTable dropout_kernels() { return {{Op::dropout, apply, refuse}, {Op::dropout_grad, apply, refuse}}; }

}  // namespace convoy::reference
