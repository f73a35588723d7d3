// conv2d and its gradients over windows, strides, padding, dilation, groups and odd channels.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

namespace {

struct Shape {
  int64_t N, C, H, W, K, R, S;  // C and K: of the whole, not of a group
  int32_t stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int32_t dilation_h = 1, dilation_w = 1, groups = 1;

  ConvAttrs attrs() const {
    ConvAttrs a{};
    a.stride[0] = stride_h, a.stride[1] = stride_w;
    a.dilation[0] = dilation_h, a.dilation[1] = dilation_w;
    a.pad_lo[0] = pad_top, a.pad_lo[1] = pad_left;
    a.pad_hi[0] = pad_bottom, a.pad_hi[1] = pad_right;
    a.groups = groups;
    a.kernel[0] = static_cast<int32_t>(R), a.kernel[1] = static_cast<int32_t>(S);
    a.input_size[0] = static_cast<int32_t>(H), a.input_size[1] = static_cast<int32_t>(W);
    a.compute = DType::f32;
    return a;
  }
  int64_t P() const { return (H + pad_top + pad_bottom - dilation_h * (R - 1) - 1) / stride_h + 1; }
  int64_t Q() const { return (W + pad_left + pad_right - dilation_w * (S - 1) - 1) / stride_w + 1; }
  bool fits() const {
    return H + pad_top + pad_bottom > dilation_h * (R - 1) && W + pad_left + pad_right > dilation_w * (S - 1);
  }
  std::string text() const {
    return fmt::format("x({},{},{},{}) K{} {}x{} s{},{} pad {},{},{},{} dil {},{} groups {}", N, C, H, W, K, R, S, stride_h,
                       stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w, groups);
  }
};

/// What the networks have, made small.
std::vector<Shape> familiar() {
  return {
      {2, 3, 14, 14, 8, 7, 7, 2, 2, 3, 3, 3, 3},        // ResNet's stem
      {2, 3, 19, 19, 4, 11, 11, 4, 4, 2, 2, 2, 2},      // AlexNet's
      {1, 3, 9, 9, 8, 3, 3, 2, 2},                      // Inception's, no padding
      {2, 16, 8, 8, 16, 3, 3, 1, 1, 1, 1, 1, 1},        // a block
      {2, 16, 8, 8, 32, 3, 3, 2, 2, 1, 1, 1, 1},        // a block that halves
      {2, 16, 8, 8, 32, 1, 1, 2, 2},                    // a projection
      {3, 17, 5, 7, 5, 1, 1},                           // odd channels
      {2, 8, 9, 9, 8, 1, 7, 1, 1, 0, 3, 0, 3},          // 1x7
      {2, 8, 9, 9, 8, 7, 1, 1, 1, 3, 0, 3, 0},          // 7x1
      {2, 32, 6, 6, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4},   // groups
      {2, 16, 6, 6, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16},  // depthwise
      {1, 1, 28, 28, 6, 5, 5, 1, 1, 2, 2, 2, 2},        // LeNet's
      {2, 4, 1, 1, 3, 1, 1},                            // one pixel
      {1, 2, 3, 3, 2, 3, 3},                            // one output pixel
      {1, 3, 8, 8, 4, 3, 3, 1, 1, 0, 0, 1, 1},          // padding at one end only
      {1, 3, 8, 8, 4, 3, 3, 2, 2, 0, 1, 1, 0},
      {1, 2, 9, 9, 3, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},    // dilated
      {1, 2, 5, 5, 2, 2, 2, 3, 3},                      // a stride past the window: input that is never read
  };
}

Shape random_shape(sdk::Random& r) {
  const int64_t channels[] = {1, 3, 5, 17};
  const int64_t windows[] = {1, 2, 3, 5};
  Shape s{};
  s.groups = static_cast<int32_t>(r.below(4) == 0 ? 2 + r.below(2) : 1);
  s.N = 1 + r.below(3);
  s.C = channels[r.below(4)] * s.groups;
  s.K = channels[r.below(4)] * s.groups;
  s.H = 3 + r.below(9), s.W = 3 + r.below(9);
  s.R = windows[r.below(4)], s.S = windows[r.below(4)];
  s.stride_h = static_cast<int32_t>(1 + r.below(3)), s.stride_w = static_cast<int32_t>(1 + r.below(3));
  s.dilation_h = static_cast<int32_t>(1 + r.below(4) / 3), s.dilation_w = static_cast<int32_t>(1 + r.below(4) / 3);
  const auto pad = [&](int64_t window) { return static_cast<int32_t>(r.below(static_cast<uint32_t>(window))); };
  s.pad_top = pad(s.R), s.pad_bottom = pad(s.R), s.pad_left = pad(s.S), s.pad_right = pad(s.S);
  return s;
}

std::vector<Shape> shapes() {
  constexpr std::size_t kRandomShapes = 40;
  std::vector<Shape> out = familiar();
  sdk::Random r(7, sdk::RandomUse::synthetic, 0, 0);
  for (std::size_t wanted = out.size() + kRandomShapes; out.size() < wanted;)
    if (const Shape s = random_shape(r); s.fits()) out.push_back(s);
  return out;
}

}  // namespace

TEST_SUITE("contract: conv2d") {
  TEST_CASE("conv2d is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Shape& s : shapes()) {
      Case& c = cases.emplace_back(s.text());
      const Value x = c.x({s.N, s.C, s.H, s.W}), w = c.param({s.K, s.C / s.groups, s.R, s.S});
      c.run(Op::conv2d, {x, w}, s.attrs());
    }
    hold_to_reference(cases);
  }

  TEST_CASE("conv2d's input gradient is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Shape& s : shapes()) {
      Case& c = cases.emplace_back(s.text());
      const Value dy = c.x({s.N, s.K, s.P(), s.Q()}), w = c.param({s.K, s.C / s.groups, s.R, s.S});
      c.run(Op::conv2d_dgrad, {dy, w}, s.attrs());
    }
    hold_to_reference(cases);
  }

  TEST_CASE("conv2d's weight gradient is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Shape& s : shapes()) {
      Case& c = cases.emplace_back(s.text());
      const Value dy = c.x({s.N, s.K, s.P(), s.Q()}), x = c.x({s.N, s.C, s.H, s.W});
      c.run(Op::conv2d_wgrad, {dy, x}, s.attrs());
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
