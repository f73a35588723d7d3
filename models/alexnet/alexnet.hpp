// The model plugin `alexnet`: options, and which of the two networks called AlexNet they mean. See README.md.
// The networks themselves are in owt and mxnet.
#pragma once

#include <convoy/sdk/model.hpp>

#include <string>
#include <utility>

namespace convoy::alexnet {

class Alexnet final : public sdk::Model {
 public:
  static constexpr const char* schema =
      "variant : string = \"owt\" [\"owt\"|\"mxnet\"] # owt: torchvision's; mxnet: with response normalisation\n"
      "dropout : float = 0.5 [0..0.999] # around the fully connected layers, in training\n";

  /// Errors: invalid where variant is unknown.
  explicit Alexnet(const Options& o);

  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override;

 protected:
  sdk::MadeFor made_for() const override { return {3, 224, 224, 1000}; }

 private:
  std::string variant_;
  double dropout_;
};

}  // namespace convoy::alexnet
