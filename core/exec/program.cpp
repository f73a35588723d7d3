#include "exec/program.hpp"

#include "error.hpp"
#include "exec/stitched.hpp"

#include <fmt/format.h>

#include <map>

namespace convoy::exec {

namespace {

constexpr uint32_t kExportTimeoutMs = 600'000;  // an export waits for all work before it, a whole step included
constexpr uint64_t kAlignment = 4096;           // what IExecutable::bind asks of the arena

/// Collects what a compiler says of each node.
class Notes final : public INodeReport {
 public:
  struct Row {
    uint32_t node;
    Via via;
    std::string text;
  };
  Code note(uint32_t node, Via via, uint32_t, Str text) noexcept override {
    rows.push_back({node, via, sdk::text(text)});
    return Code::ok;
  }
  std::vector<Row> rows;
};

void refuse_uncovered(const Device& device, const GraphView& view) {
  Notes notes;
  device.check(device.compiler()->check(view, notes), "check the graph");
  std::vector<Refusal> refusals;
  for (const auto& row : notes.rows)
    if (row.via == Via::refused) refusals.push_back({row.node, row.text});
  if (!refusals.empty()) throw_refused(device, view, refusals);
}

bool use_compiler(const Device& device, const std::string& execution) {
  const bool has_compiler = device.compiler() != nullptr, has_kernels = device.kernels() != nullptr;
  if (execution == "compiled" && !has_compiler)
    throw Error(ErrorKind::usage, fmt::format("device '{}' has no compiler", device.name()))
        .note("fix", "device.execution = \"stitched\", or leave it out");
  if (execution == "stitched" && !has_kernels)
    throw Error(ErrorKind::usage, fmt::format("device '{}' has no kernels for single nodes to stitch", device.name()))
        .note("fix", "device.execution = \"compiled\", or leave it out");
  if (!has_compiler && !has_kernels)
    throw Error(ErrorKind::plugin, fmt::format("device '{}' offers neither kernels nor a compiler", device.name()));
  return execution.empty() ? has_compiler : execution == "compiled";
}

}  // namespace

Program::Program(const Device& device, const ir::Graph& graph, ParameterStore& store, const ProgramOptions& options)
    : device_(device), flat_(std::make_unique<ir::FlatGraph>(graph)) {
  make_executable(options);
  allocate(graph, store);
  bind();
}

Program::~Program() = default;

void Program::make_executable(const ProgramOptions& options) {
  compiled_ = use_compiler(device_, options.execution);
  if (compiled_) {
    refuse_uncovered(device_, view());
    auto request = sdk::sized<CompileRequest>();
    request.deterministic = options.deterministic ? 1 : 0;
    request.graph = &view();
    request.hooks = options.hooks;
    IExecutable* out = nullptr;
    device_.check(device_.compiler()->compile(request, &out), "compile the graph");
    executable_.reset(out);
  } else {
    executable_.reset(new StitchedExecutable(device_, view(), options.hooks));
  }
  memory_.struct_size = sizeof memory_;
  device_.check(executable_->memory(&memory_), "report memory");
}

void Program::allocate(const ir::Graph& graph, ParameterStore& store) {
  buffers_.assign(graph.tensors.size(), Buffer{});
  std::map<int32_t, uint64_t> bucket_bytes;
  for (const auto& t : graph.tensors)
    if (t.bucket >= 0)
      bucket_bytes[t.bucket] = std::max(bucket_bytes[t.bucket], t.bucket_offset + ir::bytes_of(t));
  std::map<int32_t, Buffer> buckets;
  const auto own = [&](uint64_t bytes, const std::string& what) {
    memory_of_values_.emplace_back(device_, bytes, device_.compute_memory(), what);
    device_bytes_ += bytes;
    return memory_of_values_.back().get();
  };
  for (const auto& [bucket, bytes] : bucket_bytes) buckets[bucket] = own(bytes, fmt::format("bucket {}", bucket));

  for (Value v = 0; v < graph.tensors.size(); ++v) {
    const ir::Tensor& t = graph[v];
    if (!ir::is_boundary(t.role)) continue;
    if (t.alias_of >= 0) {
      buffers_[v] = buffers_[static_cast<Value>(t.alias_of)];
    } else if (t.role == Role::param || t.role == Role::state || t.role == Role::frozen) {
      buffers_[v] = store.ensure(t);
    } else if (t.bucket >= 0) {
      buffers_[v] = buckets[t.bucket];
      buffers_[v].ptr = static_cast<char*>(buffers_[v].ptr) + t.bucket_offset;
      buffers_[v].bytes = ir::bytes_of(t);
    } else {
      buffers_[v] = own(ir::bytes_of(t), "'" + t.name + "'");
    }
  }
  arena_ = DeviceBuffer(device_, memory_.arena_bytes, device_.compute_memory(), "the step's arena", kAlignment);
  device_bytes_ += memory_.arena_bytes;
}

void Program::bind() {
  if (!compiled_) static_cast<StitchedExecutable*>(executable_.get())->set_buffers(buffers_);
  std::vector<Binding> rows;
  const GraphView& g = view();
  for (Value v = 0; v < g.tensors.n; ++v)
    if (ir::is_boundary(g.tensors[v].role) && g.tensors[v].alias_of < 0) rows.push_back({v, 0, buffers_[v].ptr});
  device_.check(executable_->bind(arena_.ptr(), sdk::span<Binding>(rows)), "bind memory");
}

Coverage Program::coverage() const {
  Notes notes;
  device_.check(executable_->describe(notes), "describe the executable");
  Coverage c;
  c.nodes = view().nodes.n;
  for (const auto& row : notes.rows) {
    c.fused += row.via == Via::fused ? 1 : 0;
    c.own += row.via == Via::kernel ? 1 : 0;
    c.views += row.via == Via::view ? 1 : 0;
  }
  return c;
}

std::string Program::coverage_line() const {
  const Coverage c = coverage();
  return fmt::format("nodes {}/{} on {} · {} · {} fused, {} own kernels, {} views · arena {:.1f} MiB",
                     c.fused + c.own + c.views, c.nodes, device_.name(), compiled_ ? "compiled" : "stitched", c.fused,
                     c.own, c.views, static_cast<double>(memory_.arena_bytes) / (1 << 20));
}

void Program::write(Value v, const Buffer& src, uint64_t src_off, uint64_t n, Stream s) {
  device_.check(device_.raw().copy(s, buffers_[v], 0, src, src_off, n), "copy an input");
}

void Program::read(Value v, const Buffer& dst, uint64_t dst_off, uint64_t n, Stream s) {
  device_.check(device_.raw().copy(s, dst, dst_off, buffers_[v], 0, n), "copy an output");
}

void Program::refresh(Stream s) { device_.check(executable_->refresh(s), "take over changed parameters"); }

void Program::run(Stream s, uint64_t step) { device_.check(executable_->run(s, step), "run a step"); }

void Program::wait(Stream s) const {
  DeviceEvent done(device_);
  done.record(s);
  done.sync(kExportTimeoutMs);
}

std::vector<float> Program::export_f32(Value v, Stream s) const {
  std::vector<float> out(buffers_[v].bytes / sizeof(float));
  device_.check(executable_->export_value(v, s, out.data()), "read a value");
  wait(s);
  return out;
}

void Program::import_f32(Value v, const std::vector<float>& values, Stream s) {
  if (values.size() * sizeof(float) != buffers_[v].bytes)
    throw Error(ErrorKind::bug, "import of a value with another number of elements");
  device_.check(executable_->import_value(v, s, values.data()), "write a value");
  wait(s);
}

}  // namespace convoy::exec
