// The model plugin `lenet`: two convolutions and two fully connected layers, for small pictures and quick runs.
// Like LeNet-5 in size and shape, not a copy of it; README.md lists the differences.
#pragma once

#include <convoy/sdk/model.hpp>

#include <cstdint>
#include <utility>

namespace convoy::lenet {

class Lenet final : public sdk::Model {
 public:
  static constexpr const char* schema =
      "width : int = 16 [1..1024] # channels of the first convolution; the second has 2 x, the hidden layer 8 x\n";

  explicit Lenet(const Options& o);

  /// Errors: invalid where pictures are smaller than 16 x 16.
  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override;

 protected:
  sdk::MadeFor made_for() const override { return {1, 28, 28, 10}; }

 private:
  int64_t width_;
};

}  // namespace convoy::lenet
