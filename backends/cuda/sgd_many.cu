#include "sgd_many.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace convoy::cuda {

namespace {

constexpr int kVectors = 80;             // a launch: what fits into 4 KB of kernel parameters
constexpr int kThreads = 256;
constexpr int64_t kPiece = 4 * 4 * kThreads;  // elements of a block: four 16-byte accesses a thread

struct Row {
  float* p;
  const float* grad;
  float* buffer;
  void* copy;
  int count;
  int first_block;  // of the launch's blocks
};
struct Table {
  Row row[kVectors];
  int n;
};
struct Rule {
  const float* lr;
  const float* factor;
  const int32_t* skip;
  float decay, momentum, rest;  // rest = 1 - dampening
  bool nesterov;
};

template <class Copy>
__device__ Copy narrow(float v);
template <>
__device__ __nv_bfloat16 narrow(float v) { return __float2bfloat16_rn(v); }
template <>
__device__ __half narrow(float v) { return __float2half_rn(v); }

template <class Copy>
__device__ void one(const Row& r, int i, const Rule& rule, float lr, float factor) {
  float p = r.p[i];
  float g = r.grad[i] * factor + rule.decay * p;
  if (r.buffer != nullptr) {
    const float b = rule.momentum * r.buffer[i] + rule.rest * g;
    r.buffer[i] = b;
    g = rule.nesterov ? g + rule.momentum * b : b;
  }
  p -= lr * g;
  r.p[i] = p;
  if (r.copy != nullptr) static_cast<Copy*>(r.copy)[i] = narrow<Copy>(p);
}

template <class Copy>
__device__ void four(const Row& r, int i, const Rule& rule, float lr, float factor) {
  float4 p4 = *reinterpret_cast<const float4*>(r.p + i);
  const float4 g4 = *reinterpret_cast<const float4*>(r.grad + i);
  float4 b4 = r.buffer != nullptr ? *reinterpret_cast<const float4*>(r.buffer + i) : float4{};
  float* p = &p4.x;
  const float* gradient = &g4.x;
  float* b = &b4.x;
  __align__(8) Copy copy[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    float g = gradient[e] * factor + rule.decay * p[e];
    if (r.buffer != nullptr) {
      b[e] = rule.momentum * b[e] + rule.rest * g;
      g = rule.nesterov ? g + rule.momentum * b[e] : b[e];
    }
    p[e] -= lr * g;
    copy[e] = narrow<Copy>(p[e]);
  }
  *reinterpret_cast<float4*>(r.p + i) = p4;
  if (r.buffer != nullptr) *reinterpret_cast<float4*>(r.buffer + i) = b4;
  if (r.copy != nullptr) *reinterpret_cast<uint2*>(static_cast<Copy*>(r.copy) + i) = *reinterpret_cast<const uint2*>(copy);
}

__device__ bool aligned(const void* p, int bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

template <class Copy>
__global__ void sgd_many_kernel(const __grid_constant__ Table table, Rule rule) {
  if (rule.skip != nullptr && *rule.skip != 0) return;
  const float lr = *rule.lr, factor = rule.factor != nullptr ? *rule.factor : 1.0f;
  int low = 0, high = table.n - 1;  // the last row that begins at or before this block
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (table.row[middle].first_block <= static_cast<int>(blockIdx.x)) low = middle;
    else high = middle - 1;
  }
  const Row& r = table.row[low];
  const int begin = (static_cast<int>(blockIdx.x) - r.first_block) * static_cast<int>(kPiece);
  const int end = r.count - begin < kPiece ? r.count : begin + static_cast<int>(kPiece);
  const bool wide = aligned(r.p, 16) && aligned(r.grad, 16) && aligned(r.buffer, 16) && aligned(r.copy, 8);
  const int wide_end = wide ? end - (end - begin) % 4 : begin;
  for (int i = begin + 4 * static_cast<int>(threadIdx.x); i < wide_end; i += 4 * kThreads) four<Copy>(r, i, rule, lr, factor);
  for (int i = wide_end + static_cast<int>(threadIdx.x); i < end; i += kThreads) one<Copy>(r, i, rule, lr, factor);
}

}  // namespace

cudaError_t sgd_many(const SgdArgs* args, int n, cudaStream_t s) {
  for (int first = 0; first < n; first += kVectors) {
    Table table{};
    int blocks = 0;
    Type copies = Type::bf16;  // of those that have one
    for (int i = first; i < n && i < first + kVectors; ++i) {
      const SgdArgs& a = args[i];
      if (a.copy != nullptr) copies = a.copy_type;
      if (a.grad_type != Type::f32 || a.count > INT32_MAX - kPiece) return cudaErrorInvalidValue;
      table.row[table.n++] = {a.p, static_cast<const float*>(a.grad), a.momentum_buffer, a.copy, static_cast<int>(a.count), blocks};
      blocks += static_cast<int>((a.count + kPiece - 1) / kPiece);
    }
    const SgdArgs& a = args[first];
    const Rule rule{a.lr, a.grad_factor, a.skip, static_cast<float>(a.weight_decay), static_cast<float>(a.momentum), static_cast<float>(1 - a.dampening), a.nesterov};
    if (blocks == 0) continue;
    if (copies == Type::f16) sgd_many_kernel<__half><<<static_cast<unsigned>(blocks), kThreads, 0, s>>>(table, rule);
    else sgd_many_kernel<__nv_bfloat16><<<static_cast<unsigned>(blocks), kThreads, 0, s>>>(table, rule);
    if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

}  // namespace convoy::cuda
