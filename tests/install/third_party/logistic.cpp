// A third-party model: one linear layer.
#include <convoy/sdk/model.hpp>

using namespace convoy;
using namespace convoy::sdk;

class Logistic final : public Model {
 public:
  static constexpr const char* schema = "";
  explicit Logistic(const Options&) {}

  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    Var x = g.input("images", s.dtype, {s.batch, s.channels, s.height, s.width});
    Var t = g.input("labels", DType::i32, {s.batch});
    Var logits = g.fc(g.flatten(x), "head", s.classes);
    return {g.xent(logits, t), logits};
  }
};

CONVOY_PLUGIN(model, Logistic, "logistic")
