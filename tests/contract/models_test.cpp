// The contract of every model found: it builds, in both forms, a graph that can be trained, and fails in words.
#include "found_plugins.hpp"

#include "ir/autodiff.hpp"
#include "ir/builder.hpp"
#include "ir/verify.hpp"

#include <convoy/sdk/plugin.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace convoy;

namespace {

struct Built {
  Code code = Code::ok;
  ir::Graph graph;
  Value loss = kNoValue;
  Value logits = kNoValue;
};

Code fail(Code c, std::string_view where, std::string_view message) {
  return contract::plugin_host().fail(c, {where.data(), where.size()}, {message.data(), message.size()});
}

/// Passes calls on until it has had enough of them.
class WearyBuilder final : public IGraphBuilder {
 public:
  WearyBuilder(IGraphBuilder& inner, int calls) : inner_(inner), left_(calls) {}

  void* query(const char* wanted) noexcept override { return inner_.query(wanted); }
  void destroy() noexcept override {}
  Code input(Str name, DType t, Span<const int64_t> dims, Value* out) noexcept override {
    return tired() ? refuse() : inner_.input(name, t, dims, out);
  }
  Code param(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept override {
    return tired() ? refuse() : inner_.param(name, t, dims, init, out);
  }
  Code state(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept override {
    return tired() ? refuse() : inner_.state(name, t, dims, init, out);
  }
  Code frozen(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept override {
    return tired() ? refuse() : inner_.frozen(name, t, dims, init, out);
  }
  Code node(Op op, Span<const Value> in, const void* attrs, uint64_t size, Str name,
            Span<Value> out) noexcept override {
    return tired() ? refuse() : inner_.node(op, in, attrs, size, name, out);
  }
  Code scope(Str name, uint32_t push) noexcept override {
    return push != 0 && tired() ? refuse() : inner_.scope(name, push);
  }
  Code shape(Value v, TensorDesc* out, uint64_t size) noexcept override {
    return tired() ? refuse() : inner_.shape(v, out, size);
  }
  bool refused() const { return refused_; }

 private:
  bool tired() { return left_-- <= 0; }
  Code refuse() {
    refused_ = true;
    return fail(Code::invalid, "builder", "no more of this");
  }

  IGraphBuilder& inner_;
  int left_;
  bool refused_ = false;
};

ModelSpec spec_of(IModel& model, uint32_t batch, uint32_t classes, uint32_t training) {
  auto s = sdk::sized<ModelSpec>();
  s.batch = batch;
  s.classes = classes;
  s.dtype = DType::f32;
  s.training = training;
  REQUIRE(model.defaults(&s) == Code::ok);
  return s;
}

Built build(IModel& model, const ModelSpec& s) {
  Built out;
  ir::GraphBuilder builder(out.graph, fail);
  out.code = model.build(s, builder, &out.loss, &out.logits);
  return out;
}

std::set<std::string> names(const ir::Graph& g, std::initializer_list<Role> roles) {
  std::set<std::string> out;
  for (const ir::Tensor& t : g.tensors)
    if (t.alias_of < 0 && std::find(roles.begin(), roles.end(), t.role) != roles.end()) out.insert(t.name);
  return out;
}

const ir::Tensor* input(const ir::Graph& g, const std::string& name) {
  for (const ir::Tensor& t : g.tensors)
    if (t.role == Role::input && t.name == name) return &t;
  return nullptr;
}

}  // namespace

TEST_SUITE("contract/models") {
  TEST_CASE("a model fills in what nobody stated and leaves the rest alone") {
    for (const std::string& name : contract::names_of(Kind::model)) {
      CAPTURE(name);
      const auto model = contract::create_model(name);
      auto s = sdk::sized<ModelSpec>();
      REQUIRE(model->defaults(&s) == Code::ok);
      CHECK((s.channels > 0 && s.height > 0 && s.width > 0 && s.classes > 0));
      s.channels = 4;
      s.height = 77;
      s.width = 78;
      s.classes = 5;
      REQUIRE(model->defaults(&s) == Code::ok);
      CHECK((s.channels == 4 && s.height == 77 && s.width == 78 && s.classes == 5));
    }
  }

  TEST_CASE("a model builds in training and inference, for any batch and number of classes") {
    for (const std::string& name : contract::names_of(Kind::model)) {
      CAPTURE(name);
      const auto model = contract::create_model(name);
      for (const uint32_t batch : {1u, 3u})
        for (const uint32_t training : {0u, 1u}) {
          const ModelSpec s = spec_of(*model, batch, 7, training);
          const Built b = build(*model, s);
          REQUIRE_MESSAGE(b.code == Code::ok, contract::plugin_host().take_message());
          ir::verify(b.graph);
          CHECK(b.graph[b.loss].dims.empty());
          CHECK(b.graph[b.loss].dtype == DType::f32);
          CHECK(b.graph[b.logits].dims == std::vector<int64_t>{batch, 7});
          const ir::Tensor* images = input(b.graph, "images");
          const ir::Tensor* labels = input(b.graph, "labels");
          REQUIRE((images != nullptr && labels != nullptr));
          CHECK(images->dims == std::vector<int64_t>{batch, s.channels, s.height, s.width});
          CHECK(labels->dims == std::vector<int64_t>{batch});
        }
    }
  }

  TEST_CASE("inference has no parameter that training lacks, and every trained parameter has a gradient") {
    for (const std::string& name : contract::names_of(Kind::model)) {
      CAPTURE(name);
      const auto model = contract::create_model(name);
      const Built inference = build(*model, spec_of(*model, 2, 10, 0));
      Built training = build(*model, spec_of(*model, 2, 10, 1));
      const auto stored = {Role::param, Role::frozen, Role::state};
      const auto all = names(training.graph, stored), some = names(inference.graph, stored);
      CHECK(!some.empty());
      CHECK(std::includes(all.begin(), all.end(), some.begin(), some.end()));

      ir::Tensor one;
      one.name = "scale";
      one.role = Role::scalar;
      const Value scale = training.graph.add(one);
      const ir::Gradients gradients = ir::differentiate(training.graph, training.loss, scale);
      ir::verify(training.graph);
      CHECK(gradients.pairs.size() == names(training.graph, {Role::param}).size());
    }
  }

  TEST_CASE("a model whose builder refuses a call says so and does not go on") {
    for (const std::string& name : contract::names_of(Kind::model)) {
      CAPTURE(name);
      const auto model = contract::create_model(name);
      bool finished = false;
      for (int calls = 0; !finished; calls += 1 + calls / 8) {  // early calls one by one, then in growing steps
        ir::Graph graph;
        ir::GraphBuilder inner(graph, fail);
        WearyBuilder builder(inner, calls);
        Value loss = kNoValue, logits = kNoValue;
        const Code c = model->build(spec_of(*model, 1, 10, 1), builder, &loss, &logits);
        const std::string message = contract::plugin_host().take_message();
        finished = !builder.refused();
        CHECK((c == Code::ok) == finished);
        if (!finished) CHECK(message.find("no more of this") != std::string::npos);
      }
    }
  }
}
