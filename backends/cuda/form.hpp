// How a value lies in memory: element type, order of dimensions, channels of padding.
// Which form a node takes is decided where it is lowered.
#pragma once

#include "graph_index.hpp"
#include "kernels/kernels.hpp"

namespace convoy::cuda {

/// Of rank 4 and channels_last: N, H, W, C (weights K, R, S, C) with `channels` >= C in memory, zeros behind C.
/// Else row-major as the core sees it, and `channels` is 0.
struct Form {
  Type type = Type::f32;
  bool channels_last = false;
  int64_t channels = 0;

  bool operator==(const Form& o) const { return type == o.type && channels_last == o.channels_last && channels == o.channels; }
};

Type type_of(DType t);

/// (N, C, area) of a value; of rank other than 4: (dimension 0, product of the others, 1).
struct Extent {
  explicit Extent(const TensorDesc& t);
  int64_t n = 1, c = 1, area = 1;
  int64_t rows() const { return n * area; }  // pixels
};

/// Row-major, in its own type or another.
Form plain(const TensorDesc& t);
Form plain(Type type);
/// Channels last where the rank is 4, else row-major; no padding.
Form packed(const TensorDesc& t, Type type);
/// As the core owns it: parameters, states and gradients of rank 4 (weights) with channels last, all else row-major.
/// Depends on the value's description only.
Form home_form(const TensorDesc& t);

/// Bytes of a value in that form.
uint64_t bytes_in(const TensorDesc& t, const Form& f);
/// True where both forms mean the same bytes.
bool same_memory(const TensorDesc& t, const Form& a, const Form& b);
/// "nhwc bf16", "nchw f32", "nhwc8 bf16".
std::string text_of(const TensorDesc& t, const Form& f);

/// Enqueues the change of form of one value.
cudaError_t convert(const TensorDesc& t, const void* from, const Form& from_form, void* to, const Form& to_form, cudaStream_t s);

}  // namespace convoy::cuda
