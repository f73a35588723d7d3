// bias_add and bias_grad where they could not join a convolution or linear layer: own loops, row-major.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <algorithm>

namespace convoy::cpu {

namespace {

constexpr int64_t kMostLanes = 64;  // columns summed at once; partial sums stand on the stack

/// (N, C, inside).
struct Rows {
  Rows(const GraphIndex& g, Value x) {
    const auto d = g.dims(x);
    if (d.size() < 2) throw Refused("takes a value of rank 2 or 4");
    samples = d[0];
    channels = d[1];
    for (std::size_t i = 2; i < d.size(); ++i) inside *= d[i];
  }
  int64_t samples, channels, inside = 1;
};

void add(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Rows r(g, x);
  const Tensor from = l.read(x);
  need_f32(g, x);
  const Tensor bias = l.read(g.in(group.leader, 1));
  l.kernel("bias", {from, bias, l.write_over(y, from.desc, x, from)}, [r](const Operands& p) {
    if (r.inside == 1)
      return parallel_each(r.samples, [&](int64_t n) {
        flat().add_vector(p.at(2) + n * r.channels, p.at(0) + n * r.channels, p.at(1), r.channels);
      });
    parallel_each(r.samples * r.channels, [&](int64_t i) {
      flat().add_scalar(p.at(2) + i * r.inside, p.at(0) + i * r.inside, p.at(1)[i % r.channels], r.inside);
    });
  });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0);
  const Rows r(g, dy);
  need_f32(g, dy);
  l.kernel("bias_grad", {l.read(dy), l.write(g.out(group.leader, 0))}, [r](const Operands& p) {
    if (r.inside > 1)
      return parallel_each(r.channels, [&](int64_t c) {
        double sum = 0;
        for (int64_t n = 0; n < r.samples; ++n) sum += flat().total(p.at(0) + (n * r.channels + c) * r.inside, r.inside);
        p.at(1)[c] = static_cast<float>(sum);
      });
    parallel_each((r.channels + kMostLanes - 1) / kMostLanes, [&](int64_t block) {
      const int64_t first = block * kMostLanes, count = std::min(kMostLanes, r.channels - first);
      double sums[kMostLanes] = {};
      for (int64_t n = 0; n < r.samples; ++n) flat().accumulate(sums, p.at(0) + n * r.channels + first, count);
      for (int64_t c = 0; c < count; ++c) p.at(1)[first + c] = static_cast<float>(sums[c]);
    });
  });
}

const OpLowering kLowerings[] = {{Op::bias_add, add}, {Op::bias_grad, grad}};

}  // namespace

std::span<const OpLowering> bias_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
