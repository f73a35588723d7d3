// Model: the base of every network plugin. An author writes one function that emits a forward graph.
// No gradients, no optimiser, no weights: those are the core's. The calls for layers are in sdk/graph.hpp.
#pragma once

#include <convoy/sdk/graph.hpp>

#include <string>
#include <utility>

namespace convoy::sdk {

/// The size of picture and the number of classes that a network was designed for.
struct MadeFor {
  uint32_t channels = 3;
  uint32_t height = 32;
  uint32_t width = 32;
  uint32_t classes = 10;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"  // build() of the border and build() of the author

/// The border's side of a model; authors derive from Model. Apart from it so that Model::build does not stand
/// beside an overload of the same name, which clang would warn about in every derived class.
class ModelBorder : public Object<IModel> {
 public:
  Code defaults(ModelSpec* s) noexcept final {
    return guard("Model::defaults", [&] {
      const MadeFor m = made_for();
      if (s->channels == 0) s->channels = m.channels;
      if (s->height == 0) s->height = m.height;
      if (s->width == 0) s->width = m.width;
      if (s->classes == 0) s->classes = m.classes;
    });
  }
  Code build(const ModelSpec& s, IGraphBuilder& builder, Value* loss, Value* logits) noexcept final {
    return guard("Model::build", [&] {
      Graph g(builder, s.training != 0);
      const std::pair<Var, Var> out = emit(g, s);
      *loss = out.first.v;
      *logits = out.second.v;
    });
  }

 protected:
  virtual MadeFor made_for() const { return {}; }

 private:
  virtual std::pair<Var, Var> emit(Graph& g, const ModelSpec& s) = 0;
};

/// Derive, give it `static constexpr const char* schema` and a constructor from Options, override build(), end
/// the file with CONVOY_PLUGIN(model, YourClass, "name").
class Model : public ModelBorder {
 public:
  /// Emits the graph and returns {loss, logits}: a scalar, and (batch, classes). All fields of `s` are set.
  /// Parameters must not depend on s.training, but for parts that exist in training only. May throw.
  virtual std::pair<Var, Var> build(Graph& g, const ModelSpec& s) = 0;

 protected:
  /// Optional: what the experiment gets where it says nothing; 3 x 32 x 32 and 10 classes if not overridden.
  MadeFor made_for() const override { return {}; }

  /// The images, (batch, channels, height, width).
  static Var images(Graph& g, const ModelSpec& s) {
    return g.input("images", s.dtype, {s.batch, s.channels, s.height, s.width});
  }
  /// The labels, (batch).
  static Var labels(Graph& g, const ModelSpec& s) { return g.input("labels", DType::i32, {s.batch}); }

 private:
  std::pair<Var, Var> emit(Graph& g, const ModelSpec& s) final { return build(g, s); }
};

#pragma GCC diagnostic pop

}  // namespace convoy::sdk
