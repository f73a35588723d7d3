// The blocks, branch by branch, in torchvision's order (inception.py), which is that of the channels of a concat.
#include "blocks.hpp"

namespace convoy::inception_v3 {
namespace {

using sdk::Conv;
using sdk::Var;

constexpr double kEps = 1e-3;

Conv same(int64_t out, int64_t kernel) { return {out, kernel, 1, kernel / 2}; }
Conv halved(int64_t out) { return {out, 3, 2}; }
Conv wide(int64_t out, int64_t n) { return {out, {1, n}, 1, {0, n / 2}}; }
Conv high(int64_t out, int64_t n) { return {out, {n, 1}, 1, {n / 2, 0}}; }

/// Keeps the size; an average counts the padding.
Var pooled(const Layers& l, Var x, const std::string& name, BranchPool pool) {
  const sdk::Pool p{3, 1, 1};
  return pool == BranchPool::max ? l.graph().max_pool(x, p, name) : l.graph().avg_pool(x, p, name);
}

}  // namespace

Var Layers::conv(Var x, const std::string& name, Conv c) const {
  c.init = form_.init;
  return g_.relu(g_.bn(g_.conv(x, name + ".conv", c), name + ".bn", {kEps, 0.1, form_.train_gamma}), name + ".relu");
}

Var block_a(const Layers& l, Var x, const std::string& name, int64_t pool_features) {
  const auto scope = l.graph().scope(name);
  const std::string n = name + ".branch";
  const Var one = l.conv(x, n + "1x1", 64);
  const Var five = l.conv(l.conv(x, n + "5x5_1", 48), n + "5x5_2", same(64, 5));
  Var twice = l.conv(l.conv(x, n + "3x3dbl_1", 64), n + "3x3dbl_2", same(96, 3));
  twice = l.conv(twice, n + "3x3dbl_3", same(96, 3));
  const Var pool = l.conv(pooled(l, x, n + "_pool.pool", BranchPool::average), n + "_pool", pool_features);
  return l.graph().concat({one, five, twice, pool}, name + ".concat");
}

Var block_b(const Layers& l, Var x, const std::string& name) {
  const auto scope = l.graph().scope(name);
  const std::string n = name + ".branch";
  const Var three = l.conv(x, n + "3x3", halved(384));
  Var twice = l.conv(l.conv(x, n + "3x3dbl_1", 64), n + "3x3dbl_2", same(96, 3));
  twice = l.conv(twice, n + "3x3dbl_3", halved(96));
  return l.graph().concat({three, twice, l.graph().max_pool(x, {3, 2}, n + "_pool.pool")}, name + ".concat");
}

Var block_c(const Layers& l, Var x, const std::string& name, int64_t width) {
  const auto scope = l.graph().scope(name);
  const std::string n = name + ".branch";
  const Var one = l.conv(x, n + "1x1", 192);
  Var seven = l.conv(l.conv(x, n + "7x7_1", width), n + "7x7_2", wide(width, 7));
  seven = l.conv(seven, n + "7x7_3", high(192, 7));
  Var twice = l.conv(l.conv(x, n + "7x7dbl_1", width), n + "7x7dbl_2", high(width, 7));
  twice = l.conv(l.conv(twice, n + "7x7dbl_3", wide(width, 7)), n + "7x7dbl_4", high(width, 7));
  twice = l.conv(twice, n + "7x7dbl_5", wide(192, 7));
  const Var pool = l.conv(pooled(l, x, n + "_pool.pool", BranchPool::average), n + "_pool", 192);
  return l.graph().concat({one, seven, twice, pool}, name + ".concat");
}

Var block_d(const Layers& l, Var x, const std::string& name) {
  const auto scope = l.graph().scope(name);
  const std::string n = name + ".branch";
  const Var three = l.conv(l.conv(x, n + "3x3_1", 192), n + "3x3_2", halved(320));
  Var seven = l.conv(l.conv(x, n + "7x7x3_1", 192), n + "7x7x3_2", wide(192, 7));
  seven = l.conv(l.conv(seven, n + "7x7x3_3", high(192, 7)), n + "7x7x3_4", halved(192));
  return l.graph().concat({three, seven, l.graph().max_pool(x, {3, 2}, n + "_pool.pool")}, name + ".concat");
}

Var block_e(const Layers& l, Var x, const std::string& name, BranchPool kind) {
  const auto scope = l.graph().scope(name);
  const std::string n = name + ".branch";
  const Var one = l.conv(x, n + "1x1", 320);
  const Var three = l.conv(x, n + "3x3_1", 384);
  const Var three_wide = l.conv(three, n + "3x3_2a", wide(384, 3)), three_high = l.conv(three, n + "3x3_2b", high(384, 3));
  const Var twice = l.conv(l.conv(x, n + "3x3dbl_1", 448), n + "3x3dbl_2", same(384, 3));
  const Var twice_wide = l.conv(twice, n + "3x3dbl_3a", wide(384, 3)), twice_high = l.conv(twice, n + "3x3dbl_3b", high(384, 3));
  const Var pool = l.conv(pooled(l, x, n + "_pool.pool", kind), n + "_pool", 192);
  return l.graph().concat({one, three_wide, three_high, twice_wide, twice_high, pool}, name + ".concat");
}

Var auxiliary(const Layers& l, Var x, int64_t classes) {
  const auto scope = l.graph().scope("AuxLogits");
  Form form = l.form();
  form.init = "trunc_normal(0.01)";
  const Layers head(l.graph(), form);
  x = l.graph().avg_pool(x, {5, 3}, "AuxLogits.pool");
  x = head.conv(head.conv(x, "AuxLogits.conv0", 128), "AuxLogits.conv1", Conv{768, 5});
  return l.graph().fc(l.graph().gap(x, "AuxLogits.gap"), "AuxLogits.fc", classes,
                      {true, "trunc_normal(0.001)", form.fc_bias_init});
}

}  // namespace convoy::inception_v3
