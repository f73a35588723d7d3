#include "onednn.hpp"

namespace convoy::cpu {

namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

/// Every choice leaves its scratch memory to the caller, so that it is part of the planned arena.
dnnl::primitive_attr caller_owns_scratch() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::primitive_attr with(const Epilogue& epilogue) {
  auto attr = caller_owns_scratch();
  dnnl::post_ops ops;
  if (epilogue.add_to_dst) ops.append_sum(1.0f);
  if (epilogue.relu) ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
  attr.set_post_ops(ops);
  return attr;
}

prop_kind forward_kind(bool training) { return training ? prop_kind::forward_training : prop_kind::forward_inference; }

/// oneDNN counts dilation from 0.
Dims dilates(const Window& w) { return {w.dilation[0] - 1, w.dilation[1] - 1}; }

/// The choice, or none where oneDNN has no implementation. Mistakes in the arguments still throw.
template <class Make>
Primitive choose(Make&& make) {
  try {
    return Primitive(make());
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented) return {};
    throw;
  }
}

dnnl::convolution_forward::primitive_desc convolution_hint(const Desc& x, const Desc& w, const Desc& y,
                                                           const Window& window) {
  const dnnl::convolution_forward::desc d(prop_kind::forward_training, algorithm::convolution_direct, any_layout(x),
                                          any_layout(w), any_layout(y), window.stride, dilates(window), window.pad_lo,
                                          window.pad_hi);
  return {d, caller_owns_scratch(), engine()};
}

dnnl::inner_product_forward::primitive_desc linear_hint(const Desc& x, const Desc& w, const Desc& y) {
  const dnnl::inner_product_forward::desc d(prop_kind::forward_training, any_layout(x), any_layout(w), any_layout(y));
  return {d, caller_owns_scratch(), engine()};
}

algorithm pooling_algorithm(Pooling kind) {
  switch (kind) {
    case Pooling::max: return algorithm::pooling_max;
    case Pooling::average_with_padding: return algorithm::pooling_avg_include_padding;
    case Pooling::average_without_padding: break;
  }
  return algorithm::pooling_avg_exclude_padding;
}

dnnl::normalization_flags batch_norm_flags(bool stored_statistics, bool relu) {
  auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  if (stored_statistics) flags |= dnnl::normalization_flags::use_global_stats;
  if (relu) flags |= dnnl::normalization_flags::fuse_norm_relu;
  return flags;
}

dnnl::batch_normalization_forward::primitive_desc batch_norm_choice(const Desc& x, float eps, bool stored_statistics,
                                                                    bool relu) {
  const dnnl::batch_normalization_forward::desc d(forward_kind(!stored_statistics), x, eps,
                                                  batch_norm_flags(stored_statistics, relu));
  return {d, caller_owns_scratch(), engine()};
}

dnnl::pooling_forward::primitive_desc pool_choice(Pooling kind, bool keep, const Desc& x, const Desc& y,
                                                  const Window& w) {
  const dnnl::pooling_forward::desc d(forward_kind(keep), pooling_algorithm(kind), x, y, w.stride, w.size, w.pad_lo,
                                      w.pad_hi);
  return {d, caller_owns_scratch(), engine()};
}

dnnl::lrn_forward::primitive_desc lrn_choice(bool keep, const Desc& x, const LrnWindow& w) {
  const dnnl::lrn_forward::desc d(forward_kind(keep), algorithm::lrn_across_channels, x, w.size, w.alpha, w.beta, w.k);
  return {d, caller_owns_scratch(), engine()};
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Primitive::Primitive(const dnnl::primitive_desc_base& pd) : pd_(pd), exists_(pd.get(true) != nullptr) {}

std::string Primitive::implementation() const { return exists_ ? pd_.impl_info_str() : ""; }

int Primitive::quality() const {
  const std::string name = implementation();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (!exists_ || has("ref")) return 0;
  return has("gemm:") && !has("brgemm") ? 1 : 2;
}

Desc any_layout(const Desc& of) {
  return of.dims().empty() ? of : Desc(of.dims(), of.data_type(), dnnl::memory::format_tag::any);
}

Primitive convolution_forward(bool training, const Desc& x, const Desc& w, const Desc& bias, const Desc& y,
                              const Window& window, const Epilogue& epilogue) {
  return choose([&] {
    const dnnl::convolution_forward::desc d(forward_kind(training), algorithm::convolution_direct, x, w, bias, y,
                                            window.stride, dilates(window), window.pad_lo, window.pad_hi);
    return dnnl::convolution_forward::primitive_desc(d, with(epilogue), engine());
  });
}

Primitive convolution_backward_data(const Desc& dx, const Desc& w, const Desc& dy, const Window& window) {
  return choose([&] {
    const dnnl::convolution_backward_data::desc d(algorithm::convolution_direct, dx, w, dy, window.stride,
                                                  dilates(window), window.pad_lo, window.pad_hi);
    return dnnl::convolution_backward_data::primitive_desc(d, caller_owns_scratch(), engine(),
                                                           convolution_hint(dx, w, dy, window));
  });
}

Primitive convolution_backward_weights(const Desc& x, const Desc& dw, const Desc& dbias, const Desc& dy,
                                       const Window& window) {
  return choose([&] {
    const dnnl::convolution_backward_weights::desc d(algorithm::convolution_direct, x, dw, dbias, dy, window.stride,
                                                     dilates(window), window.pad_lo, window.pad_hi);
    return dnnl::convolution_backward_weights::primitive_desc(d, caller_owns_scratch(), engine(),
                                                              convolution_hint(x, dw, dy, window));
  });
}

Primitive linear_forward(bool training, const Desc& x, const Desc& w, const Desc& bias, const Desc& y, bool relu) {
  return choose([&] {
    const dnnl::inner_product_forward::desc d(forward_kind(training), x, w, bias, y);
    return dnnl::inner_product_forward::primitive_desc(d, with({false, relu}), engine());
  });
}

Primitive linear_backward_data(const Desc& dx, const Desc& w, const Desc& dy) {
  return choose([&] {
    return dnnl::inner_product_backward_data::primitive_desc(dnnl::inner_product_backward_data::desc(dx, w, dy),
                                                             caller_owns_scratch(), engine(), linear_hint(dx, w, dy));
  });
}

Primitive linear_backward_weights(const Desc& x, const Desc& dw, const Desc& dbias, const Desc& dy) {
  return choose([&] {
    return dnnl::inner_product_backward_weights::primitive_desc(
        dnnl::inner_product_backward_weights::desc(x, dw, dbias, dy), caller_owns_scratch(), engine(),
        linear_hint(x, dw, dy));
  });
}

Primitive batch_norm_forward(const Desc& x, float eps, bool stored_statistics, bool relu) {
  return choose([&] { return batch_norm_choice(x, eps, stored_statistics, relu); });
}

Primitive batch_norm_backward(const Desc& x, float eps, bool relu) {
  return choose([&] {
    const dnnl::batch_normalization_backward::desc d(prop_kind::backward, x, x, eps, batch_norm_flags(false, relu));
    return dnnl::batch_normalization_backward::primitive_desc(d, caller_owns_scratch(), engine(),
                                                              batch_norm_choice(x, eps, false, relu));
  });
}

Primitive pool_forward(Pooling kind, bool keep, const Desc& x, const Desc& y, const Window& w) {
  return choose([&] { return pool_choice(kind, keep, x, y, w); });
}

Primitive pool_backward(Pooling kind, const Desc& x, const Desc& y, const Window& w) {
  return choose([&] {
    const dnnl::pooling_backward::desc d(pooling_algorithm(kind), x, y, w.stride, w.size, w.pad_lo, w.pad_hi);
    return dnnl::pooling_backward::primitive_desc(d, caller_owns_scratch(), engine(), pool_choice(kind, true, x, y, w));
  });
}

Primitive lrn_forward(bool keep, const Desc& x, const LrnWindow& w) {
  return choose([&] { return lrn_choice(keep, x, w); });
}

Primitive lrn_backward(const Desc& x, const LrnWindow& w) {
  return choose([&] {
    const dnnl::lrn_backward::desc d(algorithm::lrn_across_channels, x, x, w.size, w.alpha, w.beta, w.k);
    return dnnl::lrn_backward::primitive_desc(d, caller_owns_scratch(), engine(), lrn_choice(true, x, w));
  });
}

Primitive reorder(const Desc& from, const Desc& to) {
  return choose([&] { return dnnl::reorder::primitive_desc(engine(), from, engine(), to, caller_owns_scratch()); });
}

}  // namespace convoy::cpu
