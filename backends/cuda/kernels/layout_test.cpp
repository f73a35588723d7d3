// Layouts, types and images, LRN, dropout and the loss, against loops in double.
#include "kernels_test.hpp"

#include <convoy/sdk/philox.hpp>

#include <limits>

namespace convoy::cuda::test {

TEST_SUITE_BEGIN("layout");

TEST_CASE("images are normalised, transposed and padded with zeros") {
  const int64_t n = 3, h = 9, w = 7, area = h * w;
  for (Type x_type : {Type::u8, Type::f32})
    for (bool nhwc : {false, true})
      for (Type t : float_types())
        for (int64_t c : {1, 3})
          for (int64_t c_padded : {c, int64_t{4}, int64_t{8}}) {
            INFO(name_of(t) << " c " << c << " padded " << c_padded << " nhwc " << nhwc);
            const auto x =
                Tensor::random(x_type, nhwc ? Layout{n * area, c} : Layout{n * c, area}, 1, 0, 255);
            Tensor y(t, {n * area, c_padded});
            ImageNormalizeArgs a;
            a.x = x.as<void>();
            a.x_type = x_type;
            a.x_nhwc = nhwc;
            a.y = y.out();
            a.y_type = t;
            a.n = n, a.h = h, a.w = w, a.c = c, a.c_padded = c_padded;
            const float mean[4] = {123.7f, 116.3f, 103.5f, 100}, stdev[4] = {58.4f, 57.1f, 57.4f, 50};
            std::copy_n(mean, 4, a.mean);
            std::copy_n(stdev, 4, a.stdev);
            finish(image_normalize(a, nullptr));
            compare(y, tolerance(t), 1e-1, [&](int64_t r, int64_t k) {
              if (k >= c) return 0.0;
              const double v = nhwc ? x(r, k) : x(r / area * c + k, r % area);
              return (v - static_cast<double>(mean[k])) / static_cast<double>(stdev[k]);
            });
          }
}

TEST_CASE("NCHW to NHWC and back, changing types, padding and leaving room") {
  struct Case {
    int64_t n, c, area, c_padded, gap;
  };
  for (Type from : float_types())
    for (Type to : float_types())
      for (const Case& k : {Case{2, 64, 49, 64, 0},
                            {3, 3, 50, 8, 0},
                            {2, 33, 70, 40, 5},
                            {5, 13, 1, 16, 0},
                            {64, 16, 9, 16, 0},
                            {1, 1, 1, 1, 0}}) {
        INFO(name_of(from) << " to " << name_of(to) << " c " << k.c << " area " << k.area);
        const auto x = Tensor::random(from, {k.n * k.c, k.area}, 1);
        Tensor y(to, {k.n * k.area, k.c_padded, k.gap}), z(from, {k.n * k.c, k.area});
        finish(nchw_to_nhwc(
            {x.as<void>(), from, y.as<void>(), to, k.n, k.c, k.area, k.c_padded, k.c_padded + k.gap},
            nullptr));
        compare(y, tolerance(to), 1e-6,
                [&](int64_t r, int64_t c) { return c < k.c ? x(r / k.area * k.c + c, r % k.area) : 0.0; });
        finish(nhwc_to_nchw(
            {y.as<void>(), to, z.as<void>(), from, k.n, k.c, k.area, k.c_padded, k.c_padded + k.gap},
            nullptr));
        compare(z, tolerance(from), 1e-6,
                [&](int64_t r, int64_t i) { return y(r / k.c * k.area + i, r % k.c); });
      }
}

TEST_CASE("casts between all types, fills of all types") {
  const Type all[] = {Type::f32, Type::bf16, Type::f16, Type::u8, Type::i32, Type::i64};
  for (Type from : all)
    for (Type to : all)
      for (int64_t count : {1, 1000, 1027}) {
        INFO("from " << static_cast<int>(from) << " to " << static_cast<int>(to));
        const auto x = Tensor::random(from, {1, count}, 1, 0, 200);
        Tensor y(to, {1, count});
        finish(cast({x.as<void>(), from, y.as<void>(), to, count}, nullptr));
        const bool integer = to == Type::u8 || to == Type::i32 || to == Type::i64;
        compare(y, integer ? 0 : tolerance(to), 1e-6,
                [&](int64_t, int64_t i) { return integer ? std::trunc(x(0, i)) : x(0, i); });
      }
  for (Type t : all)
    for (double value : {0.0, 3.0}) {
      Tensor y(t, {1, 777});
      finish(fill({y.as<void>(), t, 777, value}, nullptr));
      compare(y, 0, 1, [&](int64_t, int64_t) { return value; });
    }
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("lrn");

TEST_CASE("lrn and its gradient, windows clipped at both ends") {
  for (Type t : float_types())
    for (const Layout& l : {Layout{20, 96}, Layout{7, 5}, Layout{9, 300, 4}, Layout{33, 64}})
      for (int size : {1, 5, 9}) {
        INFO(text(t, l) << " size " << size);
        const auto x = Tensor::random(t, l, 1), dy = Tensor::random(t, l, 2);
        Tensor y(t, l), dx(t, l);
        LrnArgs a{x.in(), dy.in(), y.out(), t, l.rows, l.c, size, 0.5, 0.75, 2};
        finish(lrn(a, nullptr));
        a.y = dx.out();
        finish(lrn_grad(a, nullptr));
        const int64_t half = size / 2;
        const auto s = [&](int64_t r, int64_t c) {
          double sum = 0;
          for (int64_t j = std::max<int64_t>(0, c - half); j <= std::min(l.c - 1, c + half); ++j)
            sum += x(r, j) * x(r, j);
          return 2 + 0.5 / size * sum;
        };
        compare(y, tolerance(t), 1e-1,
                [&](int64_t r, int64_t c) { return x(r, c) * std::pow(s(r, c), -0.75); });
        compare(dx, tolerance(t), 1e-1, [&](int64_t r, int64_t c) {
          double sum = 0;
          for (int64_t j = std::max<int64_t>(0, c - half); j <= std::min(l.c - 1, c + half); ++j)
            sum += dy(r, j) * x(r, j) * std::pow(s(r, j), -1.75);
          return dy(r, c) * std::pow(s(r, c), -0.75) - 2 * 0.5 * 0.75 / size * x(r, c) * sum;
        });
      }
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("dropout");

TEST_CASE("dropout keeps what the host's Philox keeps") {
  const auto rng = integers(Type::i64, {0x1234567890abcdef, 77, 1000, 0});
  // `integers` goes through double, which cannot hold that seed: write it as it is.
  const int64_t exact[4] = {0x1234567890abcdef, 77, 1000, 0};
  check(cudaMemcpy(rng.as<int64_t>(), exact, sizeof exact, cudaMemcpyHostToDevice));
  for (Type t : float_types())
    for (const Layout& l : {Layout{5, 64}, Layout{6, 13}, Layout{4, 4096}, Layout{3, 24, 8}})
      for (int64_t area : {1, 36})
        for (double p : {0.0, 0.3, 0.5}) {
          INFO(text(t, l) << " area " << area << " p " << p);
          const Layout planes{l.rows * area, l.c, l.gap};
          const auto x = Tensor::random(t, planes, 1);
          Tensor y(t, planes);
          DropoutArgs a{x.in(), y.out(), t, l.rows, area, l.c, rng.as<int64_t>(), 9, p};
          finish(dropout(a, nullptr));
          compare(y, tolerance(t), 1e-2, [&](int64_t r, int64_t c) {
            const int64_t e = c * area + r % area;
            const auto words = sdk::philox4x32(
                {static_cast<uint32_t>(e / 4), static_cast<uint32_t>(exact[2] + r / area), 77, 9},
                static_cast<uint64_t>(exact[0]));
            return words[static_cast<size_t>(e % 4)] >= p * 0x1p32 ? x(r, c) / (1 - p) : 0.0;
          });
        }
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("softmax_xent");

TEST_CASE("loss, probabilities, hits and gradient, with samples that do not count") {
  for (Type t : float_types())
    for (int64_t k : {1, 7, 10, 1000, 1024})
      for (double smoothing : {0.0, 0.1})
        for (int64_t gap : {0, 5}) {
          const int64_t n = 33;
          INFO(name_of(t) << " classes " << k << " smoothing " << smoothing);
          auto logits = Tensor::random(t, {n, k, gap}, 1, -6, 6);
          std::vector<int64_t> label(static_cast<size_t>(n));
          std::mt19937 engine(5);
          for (auto& v : label) v = static_cast<int64_t>(engine() % static_cast<unsigned>(k + 1)) - 1;
          label[2] = 0;
          if (k > 4) logits(2, 3) = logits(2, 0) = 6;  // equal logits: the lower index is the larger
          logits.upload();
          const auto labels = integers(Type::i32, label);
          auto loss = blank_floats(1), scale = floats(1, 3, 2, 3);
          Tensor probs(Type::f32, {n, k}), dlogits(t, {n, k, gap}), top1(Type::i32, {1, 1}),
              top5(Type::i32, {1, 1});
          const Memory scratch(softmax_xent_scratch_bytes(n));
          finish(softmax_xent({logits.in(), t, labels.as<int32_t>(), loss.as<float>(), probs.as<float>(),
                               top1.as<int32_t>(), top5.as<int32_t>(), n, k, smoothing, scratch.get()},
                              nullptr));
          finish(softmax_xent_grad(
              {probs.as<float>(), labels.as<int32_t>(), scale.as<float>(), dlogits.out(), t, n, k, smoothing},
              nullptr));
          double total = 0, counted = 0;
          int hit1 = 0, hit5 = 0;
          std::vector<double> log_p(static_cast<size_t>(n * k));
          for (int64_t i = 0; i < n; ++i) {
            double sum = 0, largest = -1e30;
            for (int64_t j = 0; j < k; ++j) largest = std::max(largest, logits(i, j));
            for (int64_t j = 0; j < k; ++j) sum += std::exp(logits(i, j) - largest);
            const int64_t mine = label[static_cast<size_t>(i)];
            int64_t before = 0;
            for (int64_t j = 0; j < k; ++j) {
              const double lp = log_p[static_cast<size_t>(i * k + j)] =
                  logits(i, j) - largest - std::log(sum);
              if (mine < 0) continue;
              total -= ((j == mine ? 1 - smoothing : 0) + smoothing / static_cast<double>(k)) * lp;
              before +=
                  logits(i, j) > logits(i, mine) || (logits(i, j) == logits(i, mine) && j < mine) ? 1 : 0;
            }
            if (mine < 0) continue;
            counted += 1;
            hit1 += before < 1 ? 1 : 0;
            hit5 += before < 5 ? 1 : 0;
          }
          REQUIRE(counted > 0);
          compare(loss, 1e-5, 1e-3, [&](int64_t, int64_t) { return total / counted; });
          compare(probs, 1e-5, 1e-6,
                  [&](int64_t i, int64_t j) { return std::exp(log_p[static_cast<size_t>(i * k + j)]); });
          compare(top1, 0, 1, [&](int64_t, int64_t) { return hit1; });
          compare(top5, 0, 1, [&](int64_t, int64_t) { return hit5; });
          compare(dlogits, tolerance(t), 1e-2, [&](int64_t i, int64_t j) {
            const int64_t mine = label[static_cast<size_t>(i)];
            const double target = (j == mine ? 1 - smoothing : 0) + smoothing / static_cast<double>(k);
            return mine < 0
                       ? 0
                       : scale(0, 0) / counted * (std::exp(log_p[static_cast<size_t>(i * k + j)]) - target);
          });
        }
}

TEST_CASE("no sample that counts gives loss 0, a label beyond the classes NaN, a NaN logit no hit") {
  auto logits = Tensor::random(Type::f32, {2, 3}, 1);
  auto loss = blank_floats(1);
  Tensor probs(Type::f32, {2, 3}), top1(Type::i32, {1, 1}), top5(Type::i32, {1, 1});
  const Memory scratch(softmax_xent_scratch_bytes(2));
  const auto run = [&](std::vector<int64_t> label) {
    const auto labels = integers(Type::i32, label);
    finish(softmax_xent({logits.in(), Type::f32, labels.as<int32_t>(), loss.as<float>(), probs.as<float>(),
                         top1.as<int32_t>(), top5.as<int32_t>(), 2, 3, 0, scratch.get()},
                        nullptr));
  };
  run({-1, -1});
  compare(loss, 0, 1, [](int64_t, int64_t) { return 0; });
  compare(top5, 0, 1, [](int64_t, int64_t) { return 0; });
  run({0, 3});
  compare(loss, 0, 1, [](int64_t, int64_t) { return NAN; });
  logits(0, 1) = NAN;
  logits.upload();
  run({1, -1});
  compare(top5, 0, 1, [](int64_t, int64_t) { return 0; });
}

TEST_SUITE_END();

}  // namespace convoy::cuda::test
