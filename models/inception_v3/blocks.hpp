// The blocks of Inception-v3, each by the letter that torchvision gives it. Szegedy et al. 2016, figures 5 to 7 and 10.
// Which blocks stand in which order is not decided here.
#pragma once

#include <convoy/sdk/graph.hpp>

#include <string>

namespace convoy::inception_v3 {

enum class BranchPool { average, max };

/// What differs between the variants inside a block.
struct Form {
  bool train_gamma;
  std::string init;       // of convolutions
  std::string fc_init;
  std::string fc_bias_init;
};

/// Emits layers into one graph, in one form.
class Layers {
 public:
  Layers(sdk::Graph& g, Form form) : g_(g), form_(std::move(form)) {}

  sdk::Graph& graph() const { return g_; }
  const Form& form() const { return form_; }
  /// Convolution without bias, normalisation, ReLU. Names: `name`.conv, `name`.bn.
  sdk::Var conv(sdk::Var x, const std::string& name, sdk::Conv c) const;
  sdk::Var conv(sdk::Var x, const std::string& name, int64_t out) const { return conv(x, name, sdk::Conv{out}); }

 private:
  sdk::Graph& g_;
  Form form_;
};

// 35 x 35 in and out: 1x1, 5x5, 3x3 twice, pool. Gives 224 + pool_features channels.
sdk::Var block_a(const Layers& l, sdk::Var x, const std::string& name, int64_t pool_features);
// 35 -> 17: adds 480 channels to the input's.
sdk::Var block_b(const Layers& l, sdk::Var x, const std::string& name);
// 17 x 17 in and out, 7x7 as 1x7 and 7x1 of `width` channels. Gives 768.
sdk::Var block_c(const Layers& l, sdk::Var x, const std::string& name, int64_t width);
// 17 -> 8: adds 512 channels to the input's.
sdk::Var block_d(const Layers& l, sdk::Var x, const std::string& name);
// 8 x 8 in and out, 3x3 as 1x3 beside 3x1. Gives 2048.
sdk::Var block_e(const Layers& l, sdk::Var x, const std::string& name, BranchPool pool);
// The auxiliary head on the last 17 x 17 maps: logits (N, classes).
sdk::Var auxiliary(const Layers& l, sdk::Var x, int64_t classes);

}  // namespace convoy::inception_v3
