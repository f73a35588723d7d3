// For tests: a graph compiled by this backend, run, and compared value by value with the double-precision
// interpreter of the reference kernels. Not for speed.
#pragma once

#include "executable.hpp"
#include "interpreter.hpp"
#include "ir/graph.hpp"
#include "ir/op_rule.hpp"
#include "recording_host.hpp"

#include <convoy/sdk/philox.hpp>

#include <doctest/doctest.h>

#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace convoy::cpu::testing {

/// Adds boundary values and nodes; what is random is so by seed.
struct Recipe {
  ir::Graph graph;

  Value value(Role role, const std::string& name, std::vector<int64_t> dims, DType t = DType::f32) {
    ir::Tensor tensor;
    tensor.name = name;
    tensor.dims = std::move(dims);
    tensor.role = role;
    tensor.dtype = t;
    return graph.add(std::move(tensor));
  }
  Value input(std::vector<int64_t> dims, DType t = DType::f32) {
    return value(Role::input, "in" + std::to_string(graph.tensors.size()), std::move(dims), t);
  }
  Value param(std::vector<int64_t> dims) {
    return value(Role::param, "p" + std::to_string(graph.tensors.size()), std::move(dims));
  }
  Value state(std::vector<int64_t> dims) {
    return value(Role::state, "s" + std::to_string(graph.tensors.size()), std::move(dims));
  }
  template <class Attrs>
  std::vector<Value> node(Op op, std::vector<Value> in, Attrs a, Phase phase = Phase::forward) {
    a.struct_size = sizeof a;
    return ir::append_node(graph, op, std::move(in), ir::pack(a), "n" + std::to_string(graph.nodes.size()), phase);
  }
  std::vector<Value> node(Op op, std::vector<Value> in, Phase phase = Phase::forward) {
    return ir::append_node(graph, op, std::move(in), {}, "n" + std::to_string(graph.nodes.size()), phase);
  }
  /// Makes the core's what was the step's own, so that it can be compared.
  void show(Value v) {
    if (v == kNoValue || ir::is_boundary(graph[v].role)) return;
    graph[v].role = Role::output;
    graph[v].name = "out" + std::to_string(v);
  }
  void show_all() {
    for (Value v = 0; v < graph.tensors.size(); ++v) show(v);
  }
};

/// ThreadSanitizer does not see how libgomp's threads wait for each other, so whatever two of them do is suppressed
/// and costs only time.
#ifdef __SANITIZE_THREAD__
constexpr int kThreads = 1;
#else
constexpr int kThreads = 2;
#endif

class Trial {
 public:
  explicit Trial(const ir::Graph& graph, int threads = kThreads, IStepHooks* hooks = nullptr) : flat_(graph), oracle_(flat_.view()) {
    omp_set_num_threads(threads);
    Compiled lowered = lower_graph(flat_.view(), hooks);
    for (uint32_t n = 0; n < lowered.notes.size(); ++n) {
      notes.push_back(lowered.notes[n]);
      if (lowered.notes[n].via == Via::refused) refusals += lowered.graph->name(n) + ": " + lowered.notes[n].text + "\n";
    }
    if (!refusals.empty()) return;
    executable_ = std::make_unique<Executable>(std::move(lowered), ExecutableOptions{threads, false});
    allocate();
  }

  const GraphView& view() const { return flat_.view(); }
  std::string refusals;  // empty: compiled
  std::vector<NodeNote> notes;
  Executable& executable() { return *executable_; }
  /// Bits of all boundary values.
  const std::vector<std::vector<uint64_t>>& memory() const { return memory_; }

  /// Values for what the step reads; f32 come from [lo, hi).
  void randomize(uint64_t seed, float lo = -1, float hi = 1) {
    for (Value v = 0; v < view().tensors.n; ++v) {
      const TensorDesc& t = view().tensors[v];
      if (memory_[v].empty() || t.role == Role::output || t.role == Role::grad) continue;
      sdk::Random random(seed, sdk::RandomUse::synthetic, 0, v);
      for (int64_t i = 0; i < oracle_.count(v); ++i) set(v, i, t.dtype == DType::f32 ? random.uniform(lo, hi) : random.below(256));
    }
  }
  void set(Value v, int64_t i, double x) {
    const auto at = static_cast<std::size_t>(i);
    switch (view().tensors[v].dtype) {
      case DType::f32:
        reinterpret_cast<float*>(memory_[v].data())[at] = static_cast<float>(x);
        oracle_.f(v)[i] = static_cast<double>(static_cast<float>(x));
        break;
      case DType::i32: reinterpret_cast<int32_t*>(memory_[v].data())[at] = oracle_.as<int32_t>(v)[i] = static_cast<int32_t>(x); break;
      case DType::i64: reinterpret_cast<int64_t*>(memory_[v].data())[at] = oracle_.as<int64_t>(v)[i] = static_cast<int64_t>(x); break;
      case DType::u8: reinterpret_cast<uint8_t*>(memory_[v].data())[at] = oracle_.as<uint8_t>(v)[i] = static_cast<uint8_t>(x); break;
      default: FAIL("no such values here");
    }
  }
  float get(Value v, int64_t i) const {
    const int32_t alias = flat_.view().tensors[v].alias_of;
    return reinterpret_cast<const float*>(memory_[alias >= 0 ? static_cast<Value>(alias) : v].data())[i];
  }
  int32_t integer(Value v, int64_t i = 0) const { return reinterpret_cast<const int32_t*>(memory_[v].data())[i]; }

  void run(int steps = 1) {
    REQUIRE(executable_->refresh({0}) == Code::ok);
    for (int i = 0; i < steps; ++i) REQUIRE(executable_->run({0}, static_cast<uint64_t>(i)) == Code::ok);
  }
  void run_oracle(int steps = 1) {
    for (int i = 0; i < steps; ++i) oracle_.run();
  }

  /// The largest distance of any boundary value from the oracle's, each relative to the largest number in its tensor.
  double worst(std::string* where = nullptr) {
    double out = 0;
    for (Value v = 0; v < view().tensors.n; ++v) {
      if (memory_[v].empty()) continue;
      const double d = distance(v);
      if (!(d <= out) && where != nullptr) *where = sdk::text(view().tensors[v].name);
      if (!(d <= out)) out = d;
    }
    return out;
  }
  double distance(Value v) {
    double largest = 1e-6, apart = 0;
    for (int64_t i = 0; i < oracle_.count(v); ++i) {
      const bool real = view().tensors[v].dtype == DType::f32;
      if (!real && view().tensors[v].dtype != DType::i32) continue;
      const double want = real ? oracle_.f(v)[i] : oracle_.as<int32_t>(v)[i];
      const double have = real ? static_cast<double>(get(v, i)) : integer(v, i);
      largest = std::max(largest, std::abs(want));
      if (want == have) continue;
      apart = std::isnan(have) || std::isnan(want) ? std::numeric_limits<double>::infinity() : std::max(apart, std::abs(want - have));
    }
    return apart / largest;
  }

 private:
  void allocate() {
    memory_.resize(view().tensors.n);
    std::vector<Binding> rows;
    GraphIndex index(view());
    for (Value v = 0; v < view().tensors.n; ++v) {
      if (!index.is_boundary(v) || view().tensors[v].alias_of >= 0) continue;
      memory_[v].resize(index.bytes(v) / 8 + 1);
      std::memset(memory_[v].data(), 0x7f, memory_[v].size() * 8);  // what nobody writes is seen
      rows.push_back({v, 0, memory_[v].data()});
    }
    auto report = sdk::sized<MemoryReport>();
    REQUIRE(executable_->memory(&report) == Code::ok);
    arena_.reset(static_cast<char*>(std::aligned_alloc(4096, (report.arena_bytes / 4096 + 1) * 4096)));
    std::memset(arena_.get(), 0x7f, report.arena_bytes);
    REQUIRE(executable_->bind(arena_.get(), sdk::span<Binding>(rows)) == Code::ok);
  }

  struct Free {
    void operator()(char* p) const { std::free(p); }
  };

  ::convoy::testing::RecordingHost host_;
  ir::FlatGraph flat_;
  reference::Interpreter oracle_;
  std::vector<std::vector<uint64_t>> memory_;  // by value
  std::unique_ptr<char, Free> arena_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace convoy::cpu::testing
