// What the tests of the kernels share: tensors that exist on both sides, and comparison with loops in double.
// Not a test itself. Allocations are exactly as large as said, so that a memory checker sees any step beyond.
#pragma once

#include "kernels.hpp"

#include <convoy/sdk/narrow.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convoy::cuda::test {

inline void check(cudaError_t e) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(cudaGetErrorName(e)) + ": " + cudaGetErrorString(e));
}
/// Waits for a launch and for what it did.
inline void finish(cudaError_t e) {
  check(e);
  check(cudaDeviceSynchronize());
}

inline const std::vector<Type>& float_types() {
  static const std::vector<Type> all{Type::f32, Type::bf16, Type::f16};
  return all;
}
inline std::string name_of(Type t) {
  return t == Type::f32 ? "f32" : t == Type::bf16 ? "bf16" : t == Type::f16 ? "f16" : "integer";
}

/// Rounding of a result: half a unit in the last place, and for f32 room for sums in another order.
inline double tolerance(Type t) {
  return t == Type::bf16 ? 0x1p-8 * 1.01 : t == Type::f16 ? 0x1p-11 * 1.01 : 4e-6;
}

inline double load_element(Type t, const void* p, int64_t i) {
  switch (t) {
    case Type::f32: return static_cast<const float*>(p)[i];
    case Type::bf16: return sdk::bf16_to_f32(static_cast<const uint16_t*>(p)[i]);
    case Type::f16: return sdk::f16_to_f32(static_cast<const uint16_t*>(p)[i]);
    case Type::u8: return static_cast<const uint8_t*>(p)[i];
    case Type::i32: return static_cast<const int32_t*>(p)[i];
    case Type::i64: return static_cast<double>(static_cast<const int64_t*>(p)[i]);
  }
  return 0;
}
inline void store_element(Type t, void* p, int64_t i, double v) {
  switch (t) {
    case Type::f32: static_cast<float*>(p)[i] = static_cast<float>(v); break;
    case Type::bf16: static_cast<uint16_t*>(p)[i] = sdk::f32_to_bf16(static_cast<float>(v)); break;
    case Type::f16: static_cast<uint16_t*>(p)[i] = sdk::f32_to_f16(static_cast<float>(v)); break;
    case Type::u8: static_cast<uint8_t*>(p)[i] = static_cast<uint8_t>(v); break;
    case Type::i32: static_cast<int32_t*>(p)[i] = static_cast<int32_t>(v); break;
    case Type::i64: static_cast<int64_t*>(p)[i] = static_cast<int64_t>(v); break;
  }
}

class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    if (bytes > 0) check(cudaMalloc(&p_, bytes));
    if (bytes > 0) check(cudaMemset(p_, 0xA5, bytes));
  }
  Memory(const Memory&) = delete;
  Memory(Memory&& o) noexcept : p_(std::exchange(o.p_, nullptr)), bytes_(o.bytes_) {}
  ~Memory() { cudaFree(p_); }
  void* get() const { return p_; }
  size_t bytes() const { return bytes_; }

 private:
  void* p_ = nullptr;
  size_t bytes_;
};

/// Rows by channels in memory: `gap` elements between rows, `start` elements before the first.
struct Layout {
  int64_t rows, c, gap = 0, start = 0;
};
/// What every kernel is tried with: vectors and single elements, one row, rows in a wider tensor, a start off 16 bytes.
inline const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all{{37, 64},      {300, 24, 8, 8}, {33, 13},       {33, 13, 3, 1},
                                       {7, 2048},     {1, 1},          {1, 8},         {70, 16, 5},
                                       {50, 8, 0, 1}, {2100, 40},      {5, 264, 8, 16}};
  return all;
}

/// A tensor here (`host`, as stored: rounded to its type) and on the device.
class Tensor {
 public:
  Tensor(Type type, Layout l)
      : type_(type),
        l_(l),
        memory_(static_cast<size_t>(elements() * size_of(type))),
        host(static_cast<size_t>(l.rows * l.c)) {}

  static Tensor random(Type type, Layout l, unsigned seed, double lo = -2, double hi = 2) {
    Tensor t(type, l);
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> draw(lo, hi);
    for (double& v : t.host) v = draw(engine);
    t.upload();
    return t;
  }

  In in() const { return {first(), l_.c + l_.gap}; }
  Out out() const { return {first(), l_.c + l_.gap}; }
  template <class T>
  T* as() const {
    return static_cast<T*>(first());
  }
  double operator()(int64_t row, int64_t c) const { return host[static_cast<size_t>(row * l_.c + c)]; }
  double& operator()(int64_t row, int64_t c) { return host[static_cast<size_t>(row * l_.c + c)]; }
  const Layout& layout() const { return l_; }

  /// Host to device; host becomes what the type can hold.
  void upload() {
    std::vector<unsigned char> raw(memory_.bytes(), 0xA5);
    for (int64_t r = 0; r < l_.rows; ++r)
      for (int64_t c = 0; c < l_.c; ++c) {
        store_element(type_, raw.data(), index(r, c), (*this)(r, c));
        (*this)(r, c) = load_element(type_, raw.data(), index(r, c));
      }
    if (!raw.empty()) check(cudaMemcpy(memory_.get(), raw.data(), raw.size(), cudaMemcpyHostToDevice));
  }
  /// Device to host; what lies between the rows must be as it was.
  void download() {
    std::vector<unsigned char> raw(memory_.bytes());
    if (!raw.empty()) check(cudaMemcpy(raw.data(), memory_.get(), raw.size(), cudaMemcpyDeviceToHost));
    bool untouched = true;
    const int64_t size = size_of(type_), ld = l_.c + l_.gap;
    for (int64_t i = 0; i < elements(); ++i) {
      const int64_t k = i - l_.start;
      if (k >= 0 && k % ld < l_.c)
        (*this)(k / ld, k % ld) = load_element(type_, raw.data(), i);
      else
        for (int64_t b = 0; b < size; ++b)
          untouched = untouched && raw[static_cast<size_t>(i * size + b)] == 0xA5;
    }
    CHECK_MESSAGE(untouched, "wrote between the rows");
  }

 private:
  int64_t elements() const { return l_.start + (l_.rows - 1) * (l_.c + l_.gap) + l_.c; }
  int64_t index(int64_t r, int64_t c) const { return l_.start + r * (l_.c + l_.gap) + c; }
  void* first() const { return static_cast<char*>(memory_.get()) + l_.start * size_of(type_); }

  Type type_;
  Layout l_;
  Memory memory_;

 public:
  std::vector<double> host;
};

/// A vector of f32.
inline Tensor floats(int64_t n, unsigned seed, double lo = -2, double hi = 2) {
  return Tensor::random(Type::f32, {1, n}, seed, lo, hi);
}
inline Tensor blank_floats(int64_t n) { return Tensor(Type::f32, {1, n}); }
inline Tensor integers(Type type, const std::vector<int64_t>& values) {
  Tensor t(type, {1, static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.host.begin());
  t.upload();
  return t;
}

/// Largest |got - want(row, c)| / (|want| + scale) over a downloaded tensor must be at most `limit`; NaN equals NaN.
template <class F>
void compare(Tensor& got, double limit, double scale, F want) {
  got.download();
  double worst = 0;
  std::string where;
  for (int64_t r = 0; r < got.layout().rows; ++r)
    for (int64_t c = 0; c < got.layout().c; ++c) {
      const double w = want(r, c), g = got(r, c);
      if ((std::isnan(w) && std::isnan(g)) || w == g) continue;
      const double error = std::abs(g - w) / (std::abs(w) + scale);
      if (!(error <= worst)) {
        worst = std::isnan(error) ? INFINITY : error;
        where = "row " + std::to_string(r) + " channel " + std::to_string(c) + ": " + std::to_string(g) +
                ", not " + std::to_string(w);
      }
    }
  CHECK_MESSAGE(worst <= limit, where << ", error " << worst << " above " << limit);
}

inline double relu_of(double v) { return v < 0 ? 0 : v; }
inline std::string text(Type t, const Layout& l) {
  return name_of(t) + " " + std::to_string(l.rows) + " x " + std::to_string(l.c) + " gap " +
         std::to_string(l.gap) + " start " + std::to_string(l.start);
}

/// Calls f(type, layout) for all of them.
template <class F>
void each_case(F f) {
  for (Type t : float_types())
    for (const Layout& l : layouts()) {
      INFO(text(t, l));
      f(t, l);
    }
}

}  // namespace convoy::cuda::test
