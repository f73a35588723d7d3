// The model plugin `vgg`: plain stacks of 3x3 convolutions, 11 to 19 layers deep, with or without batch normalisation.
// See README.md for the family.
#pragma once

#include <convoy/sdk/model.hpp>

#include <utility>

namespace convoy::vgg {

class Vgg final : public sdk::Model {
 public:
  static constexpr const char* schema =
      "depth : int = 16 [11|13|16|19] # layers with weights\n"
      "batch_norm : bool = false # batch normalisation behind every convolution\n"
      "dropout : float = 0.5 [0..0.999] # behind the first two fully connected layers, in training\n";

  /// Errors: invalid where depth is unknown.
  explicit Vgg(const Options& o);

  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override;

 protected:
  sdk::MadeFor made_for() const override { return {3, 224, 224, 1000}; }

 private:
  sdk::Var features(sdk::Graph& g, sdk::Var x) const;
  sdk::Var classifier(sdk::Graph& g, sdk::Var x, int64_t classes) const;

  int64_t depth_;
  bool bn_;
  double dropout_;
};

}  // namespace convoy::vgg
