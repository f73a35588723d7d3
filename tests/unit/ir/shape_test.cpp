// Output shapes of every forward operator: against counting windows one by one, and against sizes known from
// published networks.
#include "graph_maker.hpp"

#include <doctest/doctest.h>

using namespace convoy;
using namespace convoy::testing;

namespace {

/// Slides a window over a padded line as PyTorch's documentation words it, without its formula. Floor mode: windows
/// that lie within. Ceil mode: go on until one reaches the end, but none may begin in the high padding.
int64_t count_windows(int64_t input, int64_t extent, int64_t stride, int64_t lo, int64_t hi, bool ceil_mode) {
  const int64_t end = input + lo + hi;
  if (extent > end) return 0;
  int64_t n = 0;
  for (int64_t begin = 0;; begin += stride, ++n) {
    const bool within = begin + extent <= end;
    const bool rest_uncovered = begin - stride + extent < end;
    if (!within && !(ceil_mode && rest_uncovered && begin < input + lo)) return n;
  }
}

/// Output height and width of a convolution, {0, 0} where the rule refuses it.
Dims conv_size(const ConvSpec& s, int64_t H, int64_t W, int64_t R, int64_t S) {
  GraphMaker m;
  const Value x = m.input("x", {1, 1, H, W}), w = m.param("w", {1, 1, R, S});
  try {
    const Value y = m.one(Op::conv2d, {x, w}, conv_attrs(s), "conv");
    return {m.dims(y)[2], m.dims(y)[3]};
  } catch (const Error&) {
    return {0, 0};
  }
}

Dims pool_size(Op op, const PoolSpec& s, int64_t H, int64_t W) {
  GraphMaker m;
  const Value x = m.input("x", {1, 1, H, W});
  const Value y = m.one(op, {x}, pool_attrs(s), "pool");
  return {m.dims(y)[2], m.dims(y)[3]};
}

Dims square_pool(int64_t size, int32_t window, int32_t stride, int32_t pad, bool ceil_mode) {
  return pool_size(Op::max_pool, {{window, window}, {stride, stride}, {pad, pad}, {pad, pad}, ceil_mode, true}, size, size);
}

Dims square_conv(int64_t size, int64_t kernel, int32_t stride, int32_t pad) {
  ConvSpec s;
  for (int i = 0; i < 2; ++i) {
    s.stride[i] = stride;
    s.pad_lo[i] = s.pad_hi[i] = pad;
  }
  return conv_size(s, size, size, kernel, kernel);
}

}  // namespace

TEST_SUITE("ir/shape") {
  TEST_CASE("a convolution has as many outputs as windows fit, for any stride, dilation and uneven padding") {
    for (int32_t kernel : {1, 2, 3, 5})
      for (int32_t stride : {1, 2, 3})
        for (int32_t dilation : {1, 2, 3})
          for (int32_t lo : {0, 1, 2})
            for (int32_t hi : {0, 1, 3})
              for (int64_t size : {1, 4, 7, 8}) {
                ConvSpec s;
                s.stride[0] = stride;
                s.dilation[0] = dilation;
                s.pad_lo[0] = lo;
                s.pad_hi[0] = hi;
                const int64_t want = count_windows(size, dilation * (kernel - 1) + 1, stride, lo, hi, false);
                CAPTURE(kernel);
                CAPTURE(stride);
                CAPTURE(dilation);
                CAPTURE(lo);
                CAPTURE(hi);
                CAPTURE(size);
                const Dims got = conv_size(s, size, 5, kernel, 1);  // height varies, width is one by one
                CHECK(got == (want == 0 ? Dims{0, 0} : Dims{want, 5}));
              }
  }

  TEST_CASE("a pool has as many outputs as windows fit, or begin in ceil mode") {
    for (Op op : {Op::max_pool, Op::avg_pool})
      for (int32_t window : {1, 2, 3, 4})
        for (int32_t stride : {1, 2, 3, 5})
          for (int32_t lo = 0; lo < window; ++lo)
            for (int32_t hi = 0; hi < window; ++hi)
              for (int64_t size : {4, 5, 9})
                for (bool ceil_mode : {false, true}) {
                  const PoolSpec s{{1, window}, {1, stride}, {0, lo}, {0, hi}, ceil_mode, true};
                  CAPTURE(window);
                  CAPTURE(stride);
                  CAPTURE(lo);
                  CAPTURE(hi);
                  CAPTURE(size);
                  CAPTURE(ceil_mode);
                  CHECK(pool_size(op, s, 3, size) == Dims{3, count_windows(size, window, stride, lo, hi, ceil_mode)});
                }
  }

  TEST_CASE("sizes known from published networks") {
    CHECK(square_conv(224, 7, 2, 3) == Dims{112, 112});       // ResNet's stem
    CHECK(square_conv(224, 11, 4, 2) == Dims{55, 55});        // AlexNet, one-weird-trick form
    CHECK(square_conv(299, 3, 2, 0) == Dims{149, 149});       // Inception v3's stem
    CHECK(square_conv(56, 3, 1, 1) == Dims{56, 56});
    CHECK(square_pool(112, 3, 2, 1, false) == Dims{56, 56});  // ResNet
    CHECK(square_pool(55, 3, 2, 0, false) == Dims{27, 27});   // AlexNet
    CHECK(square_pool(112, 3, 2, 0, true) == Dims{56, 56});   // GoogLeNet, ceil mode
    CHECK(square_pool(112, 3, 2, 0, false) == Dims{55, 55});
    CHECK(square_pool(3, 2, 2, 1, true) == Dims{2, 2});       // the third window would begin in the padding
  }

  TEST_CASE("a convolution of groups takes its share of the channels, and height and width are apart") {
    GraphMaker m;
    const Value x = m.input("x", {2, 6, 9, 17}), w = m.param("w", {4, 3, 1, 7});
    ConvSpec s;
    s.groups = 2;
    s.pad_lo[1] = s.pad_hi[1] = 3;
    s.stride[0] = 2;
    const Value y = m.one(Op::conv2d, {x, w}, conv_attrs(s), "conv");
    CHECK(m.dims(y) == Dims{2, 4, 5, 17});
    const Value depthwise = m.one(Op::conv2d, {x, m.param("d", {12, 1, 3, 3})}, conv_attrs({{1, 1}, {0, 0}, {0, 0}, {1, 1}, 6}), "dw");
    CHECK(m.dims(depthwise) == Dims{2, 12, 7, 15});
  }

  TEST_CASE("sizes that an author leaves out are filled in, and those he gives are kept") {
    GraphMaker m;
    const Value x = m.input("x", {2, 3, 8, 9}), w = m.param("w", {4, 3, 3, 2});
    m.one(Op::conv2d, {x, w}, conv_attrs(), "conv");
    const auto conv = ir::unpack<ConvAttrs>(m.node("conv"));
    CHECK(conv.kernel[0] == 3);
    CHECK(conv.kernel[1] == 2);
    CHECK(conv.input_size[0] == 8);
    CHECK(conv.input_size[1] == 9);
    auto given = conv;
    m.one(Op::conv2d, {x, w}, given, "again");
    CHECK(m.node("again").attrs == m.node("conv").attrs);

    m.one(Op::max_pool, {x}, pool_attrs(), "pool");
    CHECK(ir::unpack<PoolAttrs>(m.node("pool")).input_size[1] == 9);
    m.one(Op::global_avg_pool, {x}, "gap");  // all its attributes may be left out
    CHECK(ir::unpack<GlobalPoolAttrs>(m.node("gap")).input_size[0] == 8);
    CHECK(ir::unpack<GlobalPoolAttrs>(m.node("gap")).struct_size == sizeof(GlobalPoolAttrs));
    auto no_type = conv_attrs();
    no_type.compute = DType{};
    m.one(Op::conv2d, {x, w}, no_type, "plain");
    CHECK(ir::unpack<ConvAttrs>(m.node("plain")).compute == DType::f32);
  }

  TEST_CASE("operators without windows") {
    GraphMaker m;
    const Value x = m.input("x", {2, 4, 3, 5}), flat = m.input("flat", {2, 60});
    const Value c = m.param("c", {4}), labels = m.input("labels", {2}, DType::i32);
    CHECK(m.dims(m.one(Op::relu, {x}, "relu")) == Dims{2, 4, 3, 5});
    CHECK(m.dims(m.one(Op::bias_add, {x, c}, "bias")) == Dims{2, 4, 3, 5});
    CHECK(m.dims(m.one(Op::lrn, {x}, lrn_attrs(), "lrn")) == Dims{2, 4, 3, 5});
    CHECK(m.dims(m.one(Op::dropout, {x, m.rng()}, dropout_attrs(0.5), "drop")) == Dims{2, 4, 3, 5});
    CHECK(m.dims(m.one(Op::add, {x, x}, "add")) == Dims{2, 4, 3, 5});
    CHECK(m.dims(m.one(Op::weighted_sum, {x, x, x}, weighted_attrs({1, 2, 3}), "weighted")) == Dims{2, 4, 3, 5});
    CHECK(m.dims(m.one(Op::global_avg_pool, {x}, "gap")) == Dims{2, 4});
    CHECK(m.dims(m.one(Op::reshape, {x}, reshape_attrs({2, 60}), "reshape")) == Dims{2, 60});
    CHECK(m.dims(m.one(Op::reshape, {x}, reshape_attrs({1, 2, 3, 4, 5, 1}), "six")) == Dims{1, 2, 3, 4, 5, 1});
    CHECK(m.dims(m.one(Op::linear, {flat, m.param("w", {7, 60})}, "linear")) == Dims{2, 7});
    CHECK(m.dims(m.one(Op::fill, {}, fill_attrs({2, 1, 3, 5}, 0), "fill")) == Dims{2, 1, 3, 5});
    const Value f16 = m.one(Op::cast, {x}, cast_attrs(DType::f16), "cast");
    CHECK(m.graph[f16].dtype == DType::f16);
    CHECK(m.dims(f16) == Dims{2, 4, 3, 5});

    const auto xent = m.all(Op::softmax_xent, {flat, labels}, xent_attrs(), "loss");
    REQUIRE(xent.size() == 4);
    CHECK(m.dims(xent[0]).empty());
    CHECK(m.dims(xent[1]) == Dims{2, 60});
    CHECK(m.graph[xent[2]].dtype == DType::i32);
    CHECK(m.graph[xent[3]].dtype == DType::i32);
  }

  TEST_CASE("concatenation adds lengths along its axis, and slices take parts of it") {
    GraphMaker m;
    const Value a = m.input("a", {2, 4, 3, 5}), b = m.input("b", {2, 1, 3, 5});
    const Value y = m.one(Op::concat, {a, b, a}, concat_attrs(1), "concat");
    CHECK(m.dims(y) == Dims{2, 9, 3, 5});
    CHECK(m.dims(m.one(Op::concat, {a, a}, concat_attrs(0), "samples")) == Dims{4, 4, 3, 5});
    CHECK(m.dims(m.one(Op::slice, {y}, slice_attrs(1, 4, 1), "slice", Phase::backward)) == Dims{2, 1, 3, 5});
    CHECK(m.dims(m.one(Op::slice, {y}, slice_attrs(3, 0, 5), "all", Phase::backward)) == Dims{2, 9, 3, 5});
  }

  TEST_CASE("images of bytes become f32") {
    GraphMaker m;
    auto a = sized<ImageNormalizeAttrs>();
    for (float& s : a.stdev) s = 1;
    const Value y = m.one(Op::image_normalize, {m.input("x", {2, 3, 4, 4}, DType::u8)}, a, "normalize");
    CHECK(m.graph[y].dtype == DType::f32);
    CHECK(m.dims(y) == Dims{2, 3, 4, 4});
  }

  TEST_CASE("batch normalisation in training gives statistics and updates the running ones in place") {
    GraphMaker m;
    const Value x = m.input("x", {2, 4, 3, 5}), gamma = m.param("gamma", {4}), beta = m.param("beta", {4});
    const Value mean = m.state("mean", {4}), var = m.state("var", {4});
    CHECK(m.dims(m.one(Op::batch_norm_infer, {x, gamma, beta, mean, var}, batch_norm_attrs(), "infer")) == Dims{2, 4, 3, 5});
    const auto out = m.all(Op::batch_norm, {x, gamma, beta, mean, var}, batch_norm_attrs(), "bn");
    REQUIRE(out.size() == 5);
    CHECK(m.dims(out[0]) == Dims{2, 4, 3, 5});
    for (std::size_t i = 1; i < 5; ++i) CHECK(m.dims(out[i]) == Dims{4});
    CHECK(m.graph[out[2]].alias_of == -1);
    CHECK(m.graph[out[3]].alias_of == static_cast<int32_t>(mean));
    CHECK(m.graph[out[4]].alias_of == static_cast<int32_t>(var));
    CHECK(m.graph[out[4]].role == Role::state);
    CHECK(m.graph[out[4]].name == "var");
    // The same statistics may be updated again, from the updated content: all of it lives in the first one's memory.
    const auto again = m.all(Op::batch_norm, {out[0], gamma, beta, out[3], out[4]}, batch_norm_attrs(), "bn2");
    CHECK(m.graph[again[3]].alias_of == static_cast<int32_t>(mean));
  }

  TEST_CASE("updates write parameter and state in place, and leave out a buffer that is not there") {
    GraphMaker m;
    const Value p = m.param("p", {3, 2}), q = m.param("q", {5}), lr = m.scalar("lr"), t = m.scalar("t");
    const Value g = m.input("g", {3, 2}), h = m.input("h", {5});
    const Value b = m.state("b", {3, 2}), v = m.state("v", {3, 2}), shadow = m.state("shadow", {3, 2});
    const auto plain = m.all(Op::sgd, {q, h, kNoValue, lr}, sgd_attrs(), "plain", Phase::update);
    REQUIRE(plain.size() == 2);
    CHECK(m.graph[plain[0]].alias_of == static_cast<int32_t>(q));
    CHECK(plain[1] == kNoValue);
    auto p1 = m.all(Op::sgd, {p, g, b, lr}, sgd_attrs(0.9), "momentum", Phase::update);
    CHECK(m.graph[p1[1]].alias_of == static_cast<int32_t>(b));
    CHECK(m.graph[p1[1]].name == "b");
    auto lars = sized<LarsAttrs>();
    p1 = m.all(Op::lars, {p1[0], g, p1[1], lr}, lars, "lars", Phase::update);
    CHECK(m.graph[p1[0]].alias_of == static_cast<int32_t>(p));
    auto rms = sized<RmspropAttrs>();
    rms.alpha = 0.9;
    const auto r = m.all(Op::rmsprop, {p1[0], g, v, kNoValue, lr}, rms, "rmsprop", Phase::update);
    REQUIRE(r.size() == 3);
    CHECK(r[2] == kNoValue);
    const auto w = m.all(Op::adamw, {r[0], g, p1[1], r[1], lr, t}, sized<AdamwAttrs>(), "adamw", Phase::update);
    REQUIRE(w.size() == 3);
    CHECK(m.graph[w[2]].alias_of == static_cast<int32_t>(v));
    auto ema = sized<EmaAttrs>();
    ema.decay = 0.99;
    CHECK(m.graph[m.one(Op::ema, {shadow, w[0]}, ema, "ema", Phase::update)].alias_of == static_cast<int32_t>(shadow));
    const auto check = m.all(Op::unscale_check, {t, g, h}, sized<UnscaleCheckAttrs>(), "check", Phase::update);
    REQUIRE(check.size() == 2);
    CHECK(m.graph[check[0]].dtype == DType::i32);
    CHECK(m.graph[m.one(Op::cast_copy, {w[0]}, cast_attrs(DType::bf16), "copy", Phase::update)].dtype == DType::bf16);
  }

  TEST_CASE("gradients have the shape of what they are the gradient of") {
    GraphMaker m;
    const auto back = [&](Op op, const std::vector<Value>& in, const ir::Node& like, const char* name) {
      return m.dims(m.bytes(op, in, like.attrs, name, Phase::backward)[0]);
    };
    const Value x = m.input("x", {2, 6, 9, 7}), w = m.param("w", {4, 3, 3, 2});
    ConvSpec s;
    s.groups = 2;
    s.stride[0] = s.stride[1] = 2;
    s.pad_lo[0] = 1;
    const Value y = m.one(Op::conv2d, {x, w}, conv_attrs(s), "conv");
    CHECK(back(Op::conv2d_dgrad, {y, w}, m.node("conv"), "dgrad") == m.dims(x));
    CHECK(back(Op::conv2d_wgrad, {y, x}, m.node("conv"), "wgrad") == m.dims(w));
    PoolSpec p;
    p.ceil_mode = true;
    const Value top = m.one(Op::max_pool, {x}, pool_attrs(p), "max"), mean = m.one(Op::avg_pool, {x}, pool_attrs(p), "avg");
    CHECK(back(Op::max_pool_grad, {top, x, top}, m.node("max"), "max_grad") == m.dims(x));
    CHECK(back(Op::avg_pool_grad, {mean}, m.node("avg"), "avg_grad") == m.dims(x));
    const Value gap = m.one(Op::global_avg_pool, {x}, "gap");
    CHECK(back(Op::global_avg_pool_grad, {gap}, m.node("gap"), "gap_grad") == m.dims(x));
    const Value flat = m.input("flat", {2, 5}), fc = m.param("fc", {3, 5}), out = m.one(Op::linear, {flat, fc}, "linear");
    CHECK(back(Op::linear_dgrad, {out, fc}, m.node("linear"), "fc_dgrad") == Dims{2, 5});
    CHECK(back(Op::linear_wgrad, {out, flat}, m.node("linear"), "fc_wgrad") == Dims{3, 5});
    CHECK(back(Op::bias_grad, {x}, m.node("linear"), "bias_grad") == Dims{6});
  }
}
