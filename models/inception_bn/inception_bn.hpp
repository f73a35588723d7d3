// The model plugin `inception_bn`: GoogLeNet with batch normalisation (Inception v2 of its paper). See README.md.
#pragma once

#include <convoy/sdk/model.hpp>

#include <string>
#include <utility>

namespace convoy::inception_bn {

class InceptionBn final : public sdk::Model {
 public:
  static constexpr const char* schema =
      "pooling : string = \"floor\" [\"floor\"|\"ceil\"] # floor: MXNet's; ceil: of Caffe's weights\n"
      "conv_bias : bool = true # the published networks have it, although batch normalisation takes it away\n";

  /// Errors: invalid where pooling is unknown.
  explicit InceptionBn(const Options& o);

  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override;

 protected:
  sdk::MadeFor made_for() const override { return {3, 224, 224, 1000}; }

 private:
  bool ceil_;
  bool conv_bias_;
};

}  // namespace convoy::inception_bn
