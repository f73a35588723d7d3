// The only place that knows which oneDNN this is: every primitive is chosen through a function here.
// Written for 2.6 (Debian's libdnnl); 3.x, which has no operation descriptors, needs another onednn.cpp.
// No graph and no memory: what is computed from where is the lowering's.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// The process's CPU engine. It has no state.
const dnnl::engine& engine();

/// An implementation that oneDNN chose for one operation. Creating it (and compiling its code) is a Step's affair.
class Primitive {
 public:
  Primitive() = default;
  explicit Primitive(const dnnl::primitive_desc_base& pd);

  /// False where oneDNN has no implementation at all for what was asked.
  bool exists() const { return exists_; }
  /// "brgconv:avx512_core", "jit:avx512_core", "lrn_ref:any"; empty where there is none.
  std::string implementation() const;
  /// 0: none, or a reference loop (never used); 1: through im2col and a matrix product; 2: made for it.
  int quality() const;

  Desc src(int i = 0) const { return pd_.query_md(dnnl::query::src_md, i); }
  Desc weights(int i = 0) const { return pd_.query_md(dnnl::query::weights_md, i); }
  Desc dst() const { return pd_.query_md(dnnl::query::dst_md); }
  Desc diff_src() const { return pd_.query_md(dnnl::query::diff_src_md); }
  Desc diff_weights(int i = 0) const { return pd_.query_md(dnnl::query::diff_weights_md, i); }
  Desc diff_dst() const { return pd_.query_md(dnnl::query::diff_dst_md); }
  Desc workspace() const { return pd_.query_md(dnnl::query::workspace_md); }
  Desc scratch() const { return pd_.query_md(dnnl::query::scratchpad_md); }
  uint64_t scratch_bytes() const { return scratch().get_size(); }

  /// Compiles its code. Errors: dnnl::error.
  dnnl::primitive create() const { return dnnl::primitive(pd_.get()); }

 private:
  dnnl::primitive_desc_base pd_;
  bool exists_ = false;
};

/// A sliding window, height before width.
struct Window {
  Dims size;
  Dims stride;
  Dims dilation{1, 1};  // 1 = dense
  Dims pad_lo;
  Dims pad_hi;
};

/// What is done to the result before it is stored, in this order.
struct Epilogue {
  bool add_to_dst = false;  // the result is added to what dst holds
  bool relu = false;
};

/// A tensor whose layout oneDNN may choose.
Desc any_layout(const Desc& of);

// Choices. All take scratch memory from the caller. A Desc of zero dimensions stands for "absent" (biases).
// Weights of grouped convolutions have the groups as a dimension of their own.
Primitive convolution_forward(bool training, const Desc& x, const Desc& w, const Desc& bias, const Desc& y,
                              const Window& window, const Epilogue& epilogue);
Primitive convolution_backward_data(const Desc& dx, const Desc& w, const Desc& dy, const Window& window);
Primitive convolution_backward_weights(const Desc& x, const Desc& dw, const Desc& dbias, const Desc& dy,
                                       const Window& window);
Primitive linear_forward(bool training, const Desc& x, const Desc& w, const Desc& bias, const Desc& y, bool relu);
Primitive linear_backward_data(const Desc& dx, const Desc& w, const Desc& dy);
Primitive linear_backward_weights(const Desc& x, const Desc& dw, const Desc& dbias, const Desc& dy);

/// Scale and shift are separate vectors. `stored_statistics`: mean and variance are inputs (inference).
Primitive batch_norm_forward(const Desc& x, float eps, bool stored_statistics, bool relu);
Primitive batch_norm_backward(const Desc& x, float eps, bool relu);

enum class Pooling { max, average_with_padding, average_without_padding };
/// `keep`: a workspace is written for the backward pass (max only).
Primitive pool_forward(Pooling kind, bool keep, const Desc& x, const Desc& y, const Window& window);
Primitive pool_backward(Pooling kind, const Desc& x, const Desc& y, const Window& window);

struct LrnWindow {
  int64_t size;
  float alpha, beta, k;
};
Primitive lrn_forward(bool keep, const Desc& x, const LrnWindow& window);
Primitive lrn_backward(const Desc& x, const LrnWindow& window);

Primitive reorder(const Desc& from, const Desc& to);

}  // namespace convoy::cpu
