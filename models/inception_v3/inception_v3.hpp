// The model plugin `inception_v3`: options, and the order of the blocks. See README.md.
// The blocks themselves are in blocks.
#pragma once

#include "blocks.hpp"

#include <convoy/sdk/model.hpp>

#include <string>
#include <utility>

namespace convoy::inception_v3 {

class InceptionV3 final : public sdk::Model {
 public:
  static constexpr const char* schema =
      "variant : string = \"torchvision\" [\"torchvision\"|\"mxnet\"] # mxnet: scales fixed at 1, last pool max, no dropout\n"
      "aux : bool = false # the auxiliary head in training, its loss added times 0.4; torchvision only\n"
      "dropout : float = 0.5 [0..0.999] # before the fully connected layer, in training; torchvision only\n";

  /// Errors: invalid where variant is unknown, or mxnet comes with the auxiliary head.
  explicit InceptionV3(const Options& o);

  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override;

 protected:
  sdk::MadeFor made_for() const override { return {3, 299, 299, 1000}; }

 private:
  bool mxnet_;
  bool aux_;
  double dropout_;
};

}  // namespace convoy::inception_v3
