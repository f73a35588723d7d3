#include "layout.hpp"

#include "graph_index.hpp"

namespace convoy::cpu {

namespace {

using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Tag tag_of(Layout layout) {
  switch (layout) {
    case Layout::channels_last: return Tag::nhwc;
    case Layout::blocked16: return Tag::nChw16c;
    case Layout::blocked8: return Tag::nChw8c;
    default: return Tag::nchw;
  }
}

}  // namespace

Desc canonical(const TensorDesc& t) {
  Dims dims(t.dim, t.dim + t.rank);
  if (dims.empty()) dims = {1};
  switch (t.dtype) {
    case DType::f32: return canonical(dims);
    case DType::i32: return Desc(dims, Type::s32, row_major(dims));
    case DType::u8: return Desc(dims, Type::u8, row_major(dims));
    default: break;
  }
  int64_t bytes = static_cast<int64_t>(size_of(t.dtype));
  for (int64_t d : dims) bytes *= d;
  return Desc({bytes}, Type::u8, Dims{1});
}

Desc canonical(const Dims& dims) { return Desc(dims, Type::f32, row_major(dims)); }

Desc image(const Dims& dims, Layout layout) { return Desc(dims, Type::f32, tag_of(layout)); }

Layout layout_of(const Desc& d) {
  if (d.dims().size() != 4) return same_memory(d, canonical(d.dims())) ? Layout::plain : Layout::other;
  for (Layout l : {Layout::plain, Layout::channels_last, Layout::blocked16, Layout::blocked8})
    if (same_memory(d, image(d.dims(), l))) return l;
  return Layout::other;
}

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::plain: return "nchw";
    case Layout::channels_last: return "nhwc";
    case Layout::blocked16: return "nChw16c";
    case Layout::blocked8: return "nChw8c";
    case Layout::other: break;
  }
  return "own layout";
}

bool same_memory(const Desc& a, const Desc& b) {
  const auto &x = a.data, &y = b.data;
  if (x.ndims != y.ndims || x.data_type != y.data_type || x.offset0 != y.offset0) return false;
  if (x.format_kind != dnnl_blocked || y.format_kind != dnnl_blocked) return false;
  const auto &p = x.format_desc.blocking, &q = y.format_desc.blocking;
  if (p.inner_nblks != q.inner_nblks || x.extra.flags != y.extra.flags) return false;
  int64_t block[DNNL_MAX_NDIMS];
  for (int i = 0; i < x.ndims; ++i) block[i] = 1;
  for (int i = 0; i < p.inner_nblks; ++i) {
    if (p.inner_blks[i] != q.inner_blks[i] || p.inner_idxs[i] != q.inner_idxs[i]) return false;
    block[p.inner_idxs[i]] *= p.inner_blks[i];
  }
  for (int i = 0; i < x.ndims; ++i) {
    if (x.dims[i] != y.dims[i] || x.padded_dims[i] != y.padded_dims[i]) return false;
    if (x.padded_dims[i] > block[i] && p.strides[i] != q.strides[i]) return false;
  }
  return true;
}

bool is_dense(const Desc& d) {
  int64_t elements = 1;
  for (int i = 0; i < d.data.ndims; ++i) elements *= d.data.padded_dims[i];
  const uint64_t unit = d.data.data_type == dnnl_u8 ? 1 : 4;
  return d.data.offset0 == 0 && d.data.format_kind == dnnl_blocked &&
         d.get_size() == static_cast<uint64_t>(elements) * unit;
}

int64_t padded_elements(const Desc& d) { return static_cast<int64_t>(d.get_size() / 4); }

ImageWalk walk(const Desc& d) {
  const Layout l = layout_of(d);
  if (l == Layout::other || d.dims().size() != 4) throw Refused("is asked for in a layout that only oneDNN reads");
  const Dims n = d.dims();
  const int64_t lanes = l == Layout::plain ? 1 : l == Layout::channels_last ? n[1] : l == Layout::blocked16 ? 16 : 8;
  ImageWalk w{n[0], (n[1] + lanes - 1) / lanes, lanes, n[2], n[3], n[1], 0, 0, 0, lanes};
  w.row = w.column * w.width;
  w.block = w.row * w.height;
  w.sample = w.block * w.blocks;
  return w;
}

}  // namespace convoy::cpu
