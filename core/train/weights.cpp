#include "train/weights.hpp"

#include "error.hpp"
#include "nearest.hpp"
#include "record/safetensors.hpp"

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace convoy::train {

namespace {

constexpr std::size_t kNamesShown = 5;

std::vector<int64_t> dims_of(const TensorDesc& t) { return {t.dim, t.dim + t.rank}; }

std::string some_of(const std::vector<std::string>& names) {
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  const std::string more = names.size() > kNamesShown ? fmt::format(", ... ({} in all)", names.size()) : "";
  return join_names(first) + more;
}

bool ignored(const std::string& name) { return name.ends_with("num_batches_tracked"); }

/// Both directions before any value is touched: a half-loaded network is worse than none.
void compare_names(const record::SafetensorsFile& file, const GraphView& view, const std::vector<Value>& values) {
  std::set<std::string> known;
  std::vector<std::string> missing, left_over;
  for (Value v : values) {
    const std::string name = sdk::text(view.tensors[v].name);
    known.insert(name);
    if (file.find(name) == nullptr) missing.push_back(name);
  }
  for (const auto& t : file.tensors())
    if (known.count(t.name) == 0 && !ignored(t.name)) left_over.push_back(t.name);
  if (missing.empty() && left_over.empty()) return;
  Error e(ErrorKind::data, fmt::format("'{}' does not hold this model's weights", file.source()));
  if (!missing.empty()) e.note("missing", some_of(missing));
  if (!left_over.empty()) e.note("unknown", some_of(left_over));
  e.note("fix", "the model options that the file was made with ([model] depth, version, classes ...)");
  throw e;
}

void compare_shape(const record::SafetensorsFile& file, const TensorDesc& t) {
  const std::string name = sdk::text(t.name);
  const auto& found = file.at(name);
  if (found.shape == dims_of(t)) return;
  throw Error(ErrorKind::data, fmt::format("'{}': '{}' has shape [{}], the model's has [{}]", file.source(), name,
                                           fmt::join(found.shape, ", "), fmt::join(dims_of(t), ", ")));
}

}  // namespace

std::vector<Value> weight_values(const GraphView& view) {
  std::vector<Value> out;
  for (Value v = 0; v < view.tensors.n; ++v) {
    const TensorDesc& t = view.tensors[v];
    const bool kept = t.role == Role::param || t.role == Role::frozen || t.role == Role::state;
    // Optimiser state is named "<what>:<parameter>", which no model's name can be.
    if (kept && t.alias_of < 0 && sdk::text(t.name).find(':') == std::string::npos) out.push_back(v);
  }
  return out;
}

void load_weights(const std::string& path, exec::Program& program, Stream s) {
  const auto file = record::SafetensorsFile::open(path);
  const GraphView& view = program.view();
  const auto values = weight_values(view);
  compare_names(file, view, values);
  for (Value v : values) compare_shape(file, view.tensors[v]);
  for (Value v : values) {
    const std::string name = sdk::text(view.tensors[v].name);
    std::vector<float> data(file.at(name).elements());
    file.read_f32(name, data);
    program.import_f32(v, data, s);
  }
  program.refresh(s);
}

void save_weights(const std::string& path, const exec::Program& program, Stream s,
                  const std::map<std::string, std::string>& metadata) {
  const GraphView& view = program.view();
  const auto values = weight_values(view);
  std::vector<std::vector<float>> data;
  for (Value v : values) data.push_back(program.export_f32(v, s));
  std::vector<record::TensorSource> tensors;
  for (std::size_t i = 0; i < values.size(); ++i)
    tensors.push_back(
        record::f32_source(sdk::text(view.tensors[values[i]].name), dims_of(view.tensors[values[i]]), data[i]));
  record::write_safetensors(path, tensors, metadata);
}

}  // namespace convoy::train
