// A model that leaves training to others: forward only, or with a layer that the loss does not see.
#include <convoy/sdk/model.hpp>

using namespace convoy;
using namespace convoy::sdk;

class Lazy final : public Model {
 public:
  static constexpr const char* schema = "how : string = \"forward_only\" [\"forward_only\"|\"idle_layer\"]";
  explicit Lazy(const Options& o) : how_(get(o, "how", "forward_only")) {}

  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    Var x = g.input("images", s.dtype, {s.batch, s.channels, s.height, s.width});
    Var t = g.input("labels", DType::i32, {s.batch});
    Var logits = g.flatten(g.gap(x));  // one class a channel: nothing to learn
    if (how_ == "idle_layer") {
      g.fc(logits, "idle", s.classes);
      logits = g.fc(logits, "head", s.classes);
    }
    return {g.xent(logits, t), logits};
  }

 protected:
  MadeFor made_for() const override { return {3, 32, 32, 3}; }

 private:
  std::string how_;
};

CONVOY_PLUGIN(model, Lazy, "lazy")
