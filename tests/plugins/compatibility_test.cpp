// Plugins that were built otherwise than this host: by the other compiler, with other flags, against old headers; and a
// host whose structs have grown since.
#include "ir/builder.hpp"
#include "ir/graph.hpp"
#include "plugins/loader.hpp"
#include "plugins/program.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace convoy;
using namespace convoy::testing;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Whether a fixture that another toolchain made can be tried here; says so where not.
bool available(const std::string& fixture) {
  const bool made = std::filesystem::exists(PluginFolder::built(fixture));
  if (!made) MESSAGE("skipped: no clang++ where this was built");
  if (made && kSanitized) MESSAGE("skipped: a sanitized host takes no plain plugin");
  return made && !kSanitized;
}

ModelSpec small_spec() {
  auto s = sdk::sized<ModelSpec>();
  s.batch = 2;
  s.channels = 1;
  s.height = s.width = 4;
  s.classes = 3;
  s.dtype = DType::f32;
  s.training = 1;
  return s;
}

/// Builds a graph with the core's builder; failures go to the host, as in a run.
Code build(Loader& loader, IModel& model, ir::Graph& graph, Value* loss, Value* logits) {
  ir::GraphBuilder builder(graph, [&](Code c, std::string_view where, std::string_view message) {
    return loader.host.fail(c, {where.data(), where.size()}, {message.data(), message.size()});
  });
  return model.build(small_spec(), builder, loss, logits);
}

std::vector<int64_t> dims_of(const ir::Graph& graph, const std::string& name) {
  for (const auto& t : graph.tensors)
    if (t.name == name) return t.dims;
  return {};
}

/// Creates, builds, and fails on purpose: objects, text, options and errors all cross the border.
void cross_the_border(const std::string& fixture) {
  PluginFolder folder;
  folder.add(fixture);
  Loader loader({folder.path()});
  {
    const auto model = loader.registry.create<IModel>(Kind::model, fixture, {{"width", int64_t{6}}, {"init", std::string("zeros")}});
    ir::Graph graph;
    Value loss = kNoValue, logits = kNoValue;
    loader.host.check(build(loader, *model, graph, &loss, &logits), fixture, "build");
    CHECK(dims_of(graph, "hidden.weight") == std::vector<int64_t>{6, 16});
    CHECK(graph[logits].dims == std::vector<int64_t>{2, 3});
    CHECK(graph[loss].dims.empty());
  }
  // An initial value that no schema was asked about: the builder refuses, the plugin throws and catches on its side.
  const auto model = loader.registry.create<IModel>(Kind::model, fixture, {{"width", int64_t{6}}, {"init", std::string("twos")}});
  ir::Graph graph;
  Value loss = kNoValue, logits = kNoValue;
  const Error e = thrown([&] { loader.host.check(build(loader, *model, graph, &loss, &logits), fixture, "build the graph"); });
  CHECK(std::string(e.what()).find("'" + fixture + "' could not build the graph: ") == 0);
  CHECK(std::string(e.what()).find("twos") != std::string::npos);
  const std::string passed_on = note(e, "in");  // by the plugin's side, whose functions are not named
  CAPTURE(passed_on);
  CHECK_FALSE(passed_on.empty());
  CHECK(passed_on.find("::") == std::string::npos);
}

/// One epoch of six samples on the reference device, by the program.
Outcome trained(const std::string& fixture, const std::string& data) {
  PluginFolder folder;
  folder.add(fixture);
  std::ofstream(folder.path() / "exp.toml") << "[run]\nname = \"x\"\nmode = \"train\"\nepochs = 1\n[model]\nuse = \"" << fixture
                                            << "\"\nclasses = 3\nimage = 8\n[device]\nuse = \"reference\"\n[data]\nuse = \"" << data
                                            << "\"\nbatch = 3\n" << (data == "synthetic" ? "train = 6\neval = 3\n" : "")
                                            << "[optimizer]\nuse = \"sgd\"\nlr = 0.001\n";
  return Program().run({(folder.path() / "exp.toml").string(), "--plugin-dir", folder.path().string(), "--out", (folder.path() / "runs").string()});
}

constexpr std::size_t kGrowth = 40;  // bytes that a later version appended to every struct; filled with what no reader expects

/// The same rows as a later host would write them.
template <class T>
class GrownRows {
 public:
  explicit GrownRows(const Rows<T>& rows) : bytes_(rows.n * (sizeof(T) + kGrowth), std::byte{0xaa}), n_(rows.n) {
    for (uint32_t i = 0; i < rows.n; ++i) std::memcpy(bytes_.data() + i * (sizeof(T) + kGrowth), &rows[i], sizeof(T));
  }
  Rows<T> view() const { return {bytes_.data(), n_, sizeof(T) + kGrowth}; }

 private:
  std::vector<std::byte> bytes_;
  uint32_t n_;
};

/// Runs every node of a graph by the device's kernels on made-up inputs; returns all values.
std::vector<std::vector<float>> computed(IKernels& kernels, Loader& loader, const GraphView& g) {
  std::vector<std::vector<float>> values(g.tensors.n);
  for (uint32_t v = 0; v < g.tensors.n; ++v) {
    std::size_t n = 1;
    for (uint32_t d = 0; d < g.tensors[v].rank; ++d) n *= static_cast<std::size_t>(g.tensors[v].dim[d]);
    values[v].resize(n);
    const bool index = g.tensors[v].dtype == DType::i32;  // labels: zero
    for (std::size_t i = 0; i < n && !index; ++i) values[v][i] = 0.01f * static_cast<float>((i * 7 + v) % 13);
  }
  for (uint32_t i = 0; i < g.nodes.n; ++i) {
    auto answer = sdk::sized<Support>();
    loader.host.check(kernels.supports(g, i, &answer), "reference", "say what it supports");
    REQUIRE(answer.code == Code::ok);
    uint64_t workspace = 0, kernel = 0;
    loader.host.check(kernels.prepare(g, i, &workspace, &kernel), "reference", "prepare");
    std::vector<float> scratch(workspace / sizeof(float) + 32);
    std::vector<Binding> io;
    const NodeDesc& node = g.nodes[i];
    for (uint32_t k = 0; k < node.n_in; ++k) io.push_back({g.edges.p[node.first_in + k], 0, values[g.edges.p[node.first_in + k]].data()});
    for (uint32_t k = 0; k < node.n_out; ++k) io.push_back({g.edges.p[node.first_out + k], 0, values[g.edges.p[node.first_out + k]].data()});
    loader.host.check(kernels.launch(kernel, {0}, {io.data(), io.size()}, scratch.data()), "reference", "launch");
    kernels.release(kernel);
  }
  return values;
}

}  // namespace

TEST_SUITE("compatibility") {
  TEST_CASE("a plugin built by clang++ works in this host") {
    if (!available("by_clang")) return;
    cross_the_border("by_clang");
    const Outcome out = trained("by_clang", "synthetic");
    CHECK_MESSAGE(out.exit_code == 0, out.text);
  }

  TEST_CASE("a plugin with another string ABI, debug containers, no RTTI and C++17 works in this host") {
    cross_the_border("other_flags");
    const Outcome out = trained("other_flags", "synthetic");
    CHECK_MESSAGE(out.exit_code == 0, out.text);
  }

  TEST_CASE("a model and a dataset built against the frozen headers of ABI 1.0 train in this host") {
    const Outcome out = trained("frozen", "frozen");
    CHECK_MESSAGE(out.exit_code == 0, out.text);
    CHECK(has(out.text, "held-out loss"));
    CHECK(has(out.text, "(6 samples"));
  }

  TEST_CASE("a model built against the frozen headers builds the graph that it was written for") {
    PluginFolder folder;
    folder.add("frozen");
    Loader loader({folder.path()});
    const auto model = loader.registry.create<IModel>(Kind::model, "frozen", {{"scale", 0.25}});
    ir::Graph graph;
    Value loss = kNoValue, logits = kNoValue;
    loader.host.check(build(loader, *model, graph, &loss, &logits), "frozen", "build");
    CHECK(graph.nodes.size() == 3);
    CHECK(dims_of(graph, "fc.weight") == std::vector<int64_t>{3, 16});
  }

  TEST_CASE("a model reads the options of a host whose rows have grown") {
    PluginFolder folder;
    folder.add("plain");
    Loader loader({folder.path()});
    Option rows[2]{};
    rows[0].key = sdk::str("width");
    rows[0].type = OptionType::integer;
    rows[0].i = 9;
    rows[1].key = sdk::str("init");
    rows[1].type = OptionType::text;
    rows[1].s = sdk::str("zeros");
    const GrownRows<Option> grown(Rows<Option>{rows, 2, sizeof(Option)});
    struct {
      Options known{};
      uint64_t newer = 77;
    } options;
    options.known.struct_size = sizeof options;
    options.known.items = grown.view();
    options.known.table = sdk::str("model");
    IObject* made = nullptr;
    loader.host.check(loader.registry.factory(Kind::model, "plain").create(options.known, &made), "plain", "create");
    Owned<IModel> model(static_cast<IModel*>(made->query(IModel::id)));
    ir::Graph graph;
    Value loss = kNoValue, logits = kNoValue;
    loader.host.check(build(loader, *model, graph, &loss, &logits), "plain", "build");
    CHECK(dims_of(graph, "hidden.weight") == std::vector<int64_t>{9, 16});
  }

  TEST_CASE("a backend computes the same from the graph of a host whose rows have grown") {
    PluginFolder folder;
    folder.add("plain");
    Loader loader({folder.path(), std::filesystem::path(CONVOY_BUILD_DIR) / "lib" / "convoy" / "plugins"});
    const auto model = loader.registry.create<IModel>(Kind::model, "plain", {{"width", int64_t{5}}});
    ir::Graph graph;
    Value loss = kNoValue, logits = kNoValue;
    loader.host.check(build(loader, *model, graph, &loss, &logits), "plain", "build");
    const ir::FlatGraph flat(graph);
    const GrownRows<TensorDesc> tensors(flat.view().tensors);
    const GrownRows<NodeDesc> nodes(flat.view().nodes);
    const GrownRows<Str> scopes(flat.view().scopes);
    struct {
      GraphView known{};
      uint64_t newer = 77;
    } view;
    view.known = flat.view();
    view.known.struct_size = sizeof view;
    view.known.tensors = tensors.view();
    view.known.nodes = nodes.view();
    view.known.scopes = scopes.view();
    const auto device = loader.registry.create<IDevice>(Kind::device, "reference", {{"ordinal", int64_t{0}}});
    auto* kernels = static_cast<IKernels*>(device->query(IKernels::id));
    REQUIRE(kernels != nullptr);
    const auto before = computed(*kernels, loader, flat.view());
    CHECK(computed(*kernels, loader, view.known) == before);
    CHECK(before[logits].at(0) > 0.0f);  // something was computed
  }
}
