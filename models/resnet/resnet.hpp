// The model plugin `resnet`: options, and which network of the family they mean. See README.md for the family.
// The networks themselves are in post_activation, pre_activation and cifar.
#pragma once

#include <convoy/sdk/model.hpp>

#include <string>
#include <utility>

namespace convoy::resnet {

class Resnet final : public sdk::Model {
 public:
  static constexpr const char* schema =
      "depth : int = 50 [18|34|50|101|152|20|32|44|56] # 18, 34, 50, 101, 152: ImageNet's; 20, 32, 44, 56: CIFAR's\n"
      "version : string = \"v1.5\" [\"v1\"|\"v1.5\"|\"v2\"] # of the ImageNet depths\n";

  /// Errors: invalid where depth is unknown, or a CIFAR depth comes with another version than the default.
  explicit Resnet(const Options& o);

  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override;

 protected:
  sdk::MadeFor made_for() const override;

 private:
  bool for_cifar() const;
  sdk::Var logits(sdk::Graph& g, sdk::Var images, int64_t classes) const;

  int64_t depth_;
  std::string version_;
};

}  // namespace convoy::resnet
