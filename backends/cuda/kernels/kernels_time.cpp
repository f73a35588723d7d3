// Each launch is timed alone between two events, after a read of 256 MB that leaves nothing of its tensors in the L2.
// Bytes: every tensor read and written as often as the algorithm must, not what the kernel happens to do.
#include "kernels_time.hpp"

#include "kernels_test.hpp"

#include <cstdio>
#include <functional>

namespace convoy::cuda::test {

namespace {

constexpr int64_t kBatch = 128;
constexpr int64_t kMillion = 1000000;

/// Memory full of numbers in [-1, 1): nothing is timed on zeros.
class Data {
 public:
  Data(Type t, int64_t count) : memory_(static_cast<size_t>(count * size_of(t))), type(t), count(count) {
    std::vector<unsigned char> some(static_cast<size_t>(std::min<int64_t>(count, kMillion) * size_of(t)));
    std::mt19937 engine(1);
    std::uniform_real_distribution<double> draw(t == Type::u8 ? 0 : -1, t == Type::u8 ? 255 : 1);
    for (int64_t i = 0; i < std::min(count, kMillion); ++i) store_element(t, some.data(), i, draw(engine));
    for (size_t at = 0; at < memory_.bytes(); at += some.size())
      check(cudaMemcpy(static_cast<char*>(memory_.get()) + at, some.data(),
                       std::min(some.size(), memory_.bytes() - at), cudaMemcpyHostToDevice));
  }
  In in() const { return {memory_.get(), 0}; }
  Out out() const { return {memory_.get(), 0}; }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  double bytes() const { return static_cast<double>(memory_.bytes()); }

 private:
  Memory memory_;

 public:
  Type type;
  int64_t count;
};

class Clock {
 public:
  Clock()
      : flush_(Type::bf16, 128 * kMillion),
        sums_(Type::f32, 64),
        scratch_(bias_grad_scratch_bytes(2 * kMillion, 64)) {
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
  }
  void row(const char* name, const std::string& size, double bytes,
           const std::function<cudaError_t()>& launch) {
    std::vector<float> times;
    for (int i = 0; i < 9; ++i) {
      check(bias_grad({flush_.in(), {}, {}, sums_.as<float>(), Type::bf16, 2 * kMillion, 64, scratch_.get()},
                      nullptr));
      check(cudaEventRecord(begin_));
      check(launch());
      check(cudaEventRecord(end_));
      check(cudaEventSynchronize(end_));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_));
      times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    const double us = 1000.0 * static_cast<double>(times[times.size() / 2]);
    std::printf("%-22s %-16s %9.1f us %7.0f GB/s\n", name, size.c_str(), us, bytes / us / 1e3);
  }

 private:
  Data flush_, sums_;
  Memory scratch_;
  cudaEvent_t begin_, end_;
};

std::string size_text(int64_t side, int64_t c) {
  return std::to_string(side) + "x" + std::to_string(side) + "x" + std::to_string(c);
}

void time_layer(Clock& clock, Type t, int64_t side, int64_t c) {
  const int64_t rows = kBatch * side * side;
  const std::string size = size_text(side, c);
  const Data x(t, rows * c), y(t, rows * c), z(t, rows * c), d(t, rows * c), gamma(Type::f32, c),
      beta(Type::f32, c), mean(Type::f32, c), inv_std(Type::f32, c), dgamma(Type::f32, c),
      dbeta(Type::f32, c);
  const Memory mask(batch_norm_mask_bytes(rows, c, t)), scratch(batch_norm_grad_scratch_bytes(rows, c));
  const double u = x.bytes(), bits = static_cast<double>(mask.bytes());
  clock.row("relu", size, 2 * u, [&] { return relu({x.in(), y.out(), t, rows, c}, nullptr); });
  clock.row("add relu", size, 3 * u, [&] {
    return add({x.in(), z.in(), y.out(), true, t, rows, c}, nullptr);
  });
  clock.row("bias relu", size, 2 * u, [&] {
    return bias_add({x.in(), gamma.as<float>(), {}, true, y.out(), t, rows, c}, nullptr);
  });
  clock.row("bias_grad", size, u, [&] {
    return bias_grad({x.in(), {}, {}, dbeta.as<float>(), t, rows, c, scratch.get()}, nullptr);
  });
  BatchNormStatisticsArgs s;
  s.x = x.in(), s.type = t, s.rows = rows, s.c = c;
  s.saved_mean = mean.as<float>(), s.saved_inv_std = inv_std.as<float>(), s.scratch = scratch.get();
  BatchNormApplyArgs a;
  a.x = x.in(), a.gamma = gamma.as<float>(), a.beta = beta.as<float>(), a.mean = mean.as<float>(),
  a.inv_std = inv_std.as<float>();
  a.relu = true, a.mask = static_cast<uint8_t*>(mask.get()), a.y = y.out(), a.type = t, a.rows = rows,
  a.c = c;
  clock.row("bn statistics", size, u, [&] { return batch_norm_statistics(s, nullptr); });
  clock.row("bn apply relu", size, 2 * u + bits, [&] { return batch_norm_apply(a, nullptr); });
  const auto both = [&] {
    const cudaError_t e = batch_norm_statistics(s, nullptr);
    return e != cudaSuccess ? e : batch_norm_apply(a, nullptr);
  };
  clock.row("bn forward relu", size, 3 * u + bits, both);
  a.add = z.in();
  clock.row("bn forward add relu", size, 4 * u + bits, both);
  BatchNormGradArgs g;
  g.dy = d.in(), g.x = x.in(), g.mask = a.mask, g.gamma = a.gamma, g.saved_mean = a.mean,
  g.saved_inv_std = a.inv_std;
  g.dx = y.out(), g.dgamma = dgamma.as<float>(), g.dbeta = dbeta.as<float>(), g.type = t, g.rows = rows,
  g.c = c, g.scratch = scratch.get();
  clock.row("bn grad relu", size, 5 * u + 2 * bits, [&] { return batch_norm_grad(g, nullptr); });
  g.dadd = z.out();
  clock.row("bn grad add relu", size, 6 * u + bits, [&] { return batch_norm_grad(g, nullptr); });
}

void time_pools(Clock& clock, Type t) {
  PoolShape s;
  s.n = kBatch, s.h = s.w = 112, s.c = 64, s.p = s.q = 56;
  for (int i = 0; i < 2; ++i) s.window[i] = 3, s.stride[i] = 2, s.pad_lo[i] = s.pad_hi[i] = 1;
  const Data x(t, s.n * s.h * s.w * s.c), y(t, s.n * s.p * s.q * s.c), where(Type::u8, s.n * s.p * s.q * s.c);
  const double all = x.bytes() + y.bytes();
  clock.row("max_pool 3/2", size_text(112, 64), all + where.bytes(), [&] {
    return max_pool({s, t, x.in(), y.out(), where.as<uint8_t>(), false}, nullptr);
  });
  clock.row("max_pool_grad 3/2", size_text(112, 64), all + where.bytes(), [&] {
    return max_pool_grad({s, t, y.in(), {}, where.as<uint8_t>(), x.out()}, nullptr);
  });
  clock.row("avg_pool 3/2", size_text(112, 64), all, [&] {
    return avg_pool({s, t, x.in(), y.out()}, nullptr);
  });
  clock.row("avg_pool_grad 3/2", size_text(112, 64), all, [&] {
    return avg_pool_grad({s, t, y.in(), x.out()}, nullptr);
  });
  const Data p(t, kBatch * 49 * 2048), m(t, kBatch * 2048);
  clock.row("global_avg_pool", size_text(7, 2048), p.bytes() + m.bytes(), [&] {
    return global_avg_pool({p.in(), m.out(), t, kBatch, 49, 2048}, nullptr);
  });
  clock.row("global_avg_pool_grad", size_text(7, 2048), p.bytes() + m.bytes(), [&] {
    return global_avg_pool_grad({m.in(), p.out(), t, kBatch, 49, 2048}, nullptr);
  });
}

void time_ends(Clock& clock, Type t) {
  const int64_t area = 224 * 224;
  const Data image(Type::u8, kBatch * area * 3), floats(Type::f32, kBatch * area * 3),
      y(t, kBatch * area * 8);
  for (bool nhwc : {true, false})
    for (int64_t c : {4, 8}) {
      ImageNormalizeArgs a;
      a.x = image.as<void>(), a.x_nhwc = nhwc, a.y = y.out(), a.y_type = t, a.n = kBatch, a.h = a.w = 224,
      a.c = 3, a.c_padded = c;
      clock.row(nhwc ? "image u8 nhwc" : "image u8 nchw", size_text(224, c),
                image.bytes() + static_cast<double>(kBatch * area * c * size_of(t)),
                [&] { return image_normalize(a, nullptr); });
    }
  clock.row(
      "nchw_to_nhwc image", size_text(224, 4),
      floats.bytes() + static_cast<double>(kBatch * area * 4 * size_of(t)), [&] {
        return nchw_to_nhwc({floats.as<void>(), Type::f32, y.as<void>(), t, kBatch, 3, area, 4, 4}, nullptr);
      });
  const Data wide(Type::f32, kBatch * 256 * 3136), narrow(t, kBatch * 256 * 3136);
  clock.row("nchw_to_nhwc f32", size_text(56, 256), wide.bytes() + narrow.bytes(), [&] {
    return nchw_to_nhwc({wide.as<void>(), Type::f32, narrow.as<void>(), t, kBatch, 256, 3136, 0, 0}, nullptr);
  });
  clock.row("nhwc_to_nchw f32", size_text(56, 256), wide.bytes() + narrow.bytes(), [&] {
    return nhwc_to_nchw({narrow.as<void>(), t, wide.as<void>(), Type::f32, kBatch, 256, 3136, 0, 0}, nullptr);
  });
  clock.row("cast f32", size_text(56, 256), wide.bytes() + narrow.bytes(), [&] {
    return cast({wide.as<void>(), Type::f32, narrow.as<void>(), t, wide.count}, nullptr);
  });
  ConcatArgs k;
  const Data joined(t, kBatch * 3136 * 256);
  k.n = 4, k.y = joined.out(), k.type = t, k.rows = kBatch * 3136;
  for (int i = 0; i < 4; ++i) k.x[i] = narrow.in(), k.c[i] = 64;
  clock.row("concat 4 x 64", size_text(56, 256), 2 * joined.bytes(), [&] { return concat(k, nullptr); });
  const int64_t features = 4096;
  const Data v(t, kBatch * features), rng(Type::i64, 4);
  clock.row("dropout", "128x4096", 2 * v.bytes(), [&] {
    return dropout({v.in(), v.out(), t, kBatch, 1, features, rng.as<int64_t>(), 1, 0.5}, nullptr);
  });
  const Data lrn_x(t, kBatch * 55 * 55 * 64), lrn_y(t, lrn_x.count);
  clock.row("lrn", size_text(55, 64), 2 * lrn_x.bytes(), [&] {
    return lrn({lrn_x.in(), {}, lrn_y.out(), t, kBatch * 55 * 55, 64, 5, 1e-4, 0.75, 1}, nullptr);
  });
  clock.row("lrn_grad", size_text(55, 64), 3 * lrn_x.bytes(), [&] {
    return lrn_grad({lrn_x.in(), narrow.in(), lrn_y.out(), t, kBatch * 55 * 55, 64, 5, 1e-4, 0.75, 1},
                    nullptr);
  });
  const Data logits(t, kBatch * 1000), probs(Type::f32, kBatch * 1000), loss(Type::f32, 1),
      hits(Type::i32, 2), scale(Type::f32, 1), labels(Type::i32, kBatch);
  const Memory scratch(softmax_xent_scratch_bytes(kBatch));
  clock.row("softmax_xent", "128x1000", logits.bytes() + probs.bytes(), [&] {
    return softmax_xent({logits.in(), t, labels.as<int32_t>(), loss.as<float>(), probs.as<float>(),
                         hits.as<int32_t>(), hits.as<int32_t>() + 1, kBatch, 1000, 0.1, scratch.get()},
                        nullptr);
  });
  clock.row("softmax_xent_grad", "128x1000", logits.bytes() + probs.bytes(), [&] {
    return softmax_xent_grad(
        {probs.as<float>(), labels.as<int32_t>(), scale.as<float>(), logits.out(), t, kBatch, 1000, 0.1},
        nullptr);
  });
}

void time_updates(Clock& clock, Type t) {
  const int64_t n = 25557032;  // ResNet-50
  const Data p(Type::f32, n), b(Type::f32, n), grad(t, n), copy(t, n), lr(Type::f32, 1), factor(Type::f32, 1),
      not_finite(Type::i32, 1);
  SgdArgs a;
  a.p = p.as<float>(), a.grad = grad.as<void>(), a.grad_type = t, a.copy = copy.as<void>(), a.copy_type = t,
  a.count = n, a.lr = lr.as<float>();
  a.momentum_buffer = b.as<float>(), a.momentum = 0.9, a.weight_decay = 1e-4;
  clock.row("sgd momentum copy", "25.6 M", 2 * p.bytes() + 2 * b.bytes() + grad.bytes() + copy.bytes(),
            [&] { return sgd(a, nullptr); });
  const Vector v{grad.as<void>(), n};
  const Memory scratch(unscale_check_scratch_bytes(1));
  clock.row("unscale_check", "25.6 M", grad.bytes(), [&] {
    return unscale_check(
        {&v, 1, t, lr.as<float>(), 0, not_finite.as<int32_t>(), factor.as<float>(), scratch.get()}, nullptr);
  });
}

}  // namespace

void print_times() {
  Clock clock;
  const Type t = Type::bf16;
  time_layer(clock, t, 112, 64);
  time_layer(clock, t, 56, 64);
  time_layer(clock, t, 56, 256);
  time_layer(clock, t, 28, 512);
  time_layer(clock, t, 14, 1024);
  time_layer(clock, t, 7, 2048);
  time_pools(clock, t);
  time_ends(clock, t);
  time_updates(clock, t);
}

}  // namespace convoy::cuda::test
