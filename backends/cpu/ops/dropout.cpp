// dropout and dropout_grad: the same loop over counter-based random numbers, row-major; no mask is kept.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <cmath>

namespace convoy::cpu {

namespace {

constexpr int64_t kPiece = 4096;  // elements of a sample that one thread takes at a time; a multiple of 4

void apply(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<DropoutAttrs>(group.leader);
  if (!(attrs.p >= 0 && attrs.p < 1)) throw Refused("drops with a probability outside [0, 1)");
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  need_f32(g, x);
  const int64_t samples = g.tensor(x).rank == 0 ? 1 : g.dims(x)[0], each = g.elements(x) / samples;
  const int64_t pieces = (each + kPiece - 1) / kPiece;
  const auto threshold = static_cast<uint32_t>(std::ceil(attrs.p * 0x1p32));
  const auto scale = static_cast<float>(1 / (1 - attrs.p));
  const Tensor from = l.read(x);
  const Tensor rng = l.read(g.in(group.leader, 1));
  l.kernel("dropout", {from, rng, l.write_over(y, from.desc, x, from)}, [=, stream = attrs.stream](const Operands& p) {
    const int64_t* counter = p.at<int64_t>(1);
    parallel_each(samples * pieces, [&](int64_t i) {
      const int64_t n = i / pieces, first = i % pieces * kPiece;
      const DropoutStep s{static_cast<uint64_t>(counter[0]), static_cast<uint32_t>(counter[2] + n),
                          static_cast<uint32_t>(counter[1]), stream, threshold, scale};
      flat().dropout(p.at(2) + n * each + first, p.at(0) + n * each + first, first, std::min(kPiece, each - first), s);
    });
  });
}

const OpLowering kLowerings[] = {{Op::dropout, apply}, {Op::dropout_grad, apply}};

}  // namespace

std::span<const OpLowering> dropout_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
