// A convolution or matrix product made ready to run by one of the vendor's libraries, and the problem that it solves.
// Which plan is taken: plan_search.hpp. A linear layer is a 1x1 convolution of a 1x1 image here.
#pragma once

#include "kernels/kernels.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace convoy::cuda {

enum class Direction { forward, input_gradient, weight_gradient };

/// Letters as in convoy/ops.hpp. x (N, H, W, C), w (K, R, S, C / groups), y (N, P, Q, K), all packed with channels last.
/// Forward: y = relu(x * w + bias + add), each of the three where asked for; `add` is like y, `bias` (K) of `type`.
/// Input gradient: x from y and w. Weight gradient: w from y and x.
struct ConvProblem {
  Direction direction = Direction::forward;
  Type type = Type::f32;  // of what is read
  Type out = Type::f32;   // of what is written
  bool tf32 = false;
  bool linear = false;
  bool bias = false, add = false, relu = false;
  bool deterministic = true;
  int64_t N = 0, C = 0, H = 1, W = 1, K = 0, R = 1, S = 1, P = 1, Q = 1, groups = 1;
  std::array<int64_t, 2> stride{1, 1}, dilation{1, 1}, pad_lo{0, 0}, pad_hi{0, 0};

  /// True where it is one matrix product.
  bool is_product() const;
  /// "fprop n32 c64 56x56 k64 1x1/1 bf16 +bias+relu": equal texts are equal problems.
  std::string text() const;
  uint64_t x_bytes() const;
  uint64_t w_bytes() const;
  uint64_t y_bytes() const;
};

inline uint64_t bytes_of(Type t) { return static_cast<uint64_t>(size_of(t)); }
const char* name_of(Type t);

struct PlanArguments {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  const void* bias = nullptr;
  const float* bias_f32 = nullptr;  // the same in f32, for plans that end in an own kernel
  const void* add = nullptr;
  void* workspace = nullptr;
};

/// Threads: enqueue() from one at a time.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual uint64_t workspace_bytes() const = 0;
  /// Enqueues only; legal while capturing. Errors: sdk::Error.
  virtual void enqueue(const PlanArguments& a, cudaStream_t s) const = 0;
  /// "cudnn eng47_k2=3", for reports and the cache.
  virtual std::string tag() const = 0;
};

}  // namespace convoy::cuda
