// The host's side of IGraphBuilder: a model's calls become tensors and nodes, checked one by one.
// Does not differentiate or optimise.
#pragma once

#include "ir/graph.hpp"

#include <convoy/abi.hpp>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::ir {

/// Takes the message of a failed call and returns its code: IHost::fail in a run, anything in a test.
using FailFn = std::function<Code(Code, std::string_view where, std::string_view message)>;

/// Borrows the graph. Threads: one. A failed call leaves the graph as it was.
class GraphBuilder final : public IGraphBuilder {
 public:
  GraphBuilder(Graph& graph, FailFn fail) : graph_(graph), fail_(std::move(fail)) {}

  /// When the model asks for input `name` as f32 and the data are stored as u8, it gets the output of an
  /// image_normalize node with these values (4 each) on a u8 input.
  void set_input_source(const std::string& name, DType stored, const float* mean, const float* stdev);

  void* query(const char*) noexcept override { return nullptr; }
  void destroy() noexcept override {}
  Code input(Str name, DType t, Span<const int64_t> dims, Value* out) noexcept override;
  Code param(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept override;
  Code state(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept override;
  Code frozen(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept override;
  Code node(Op op, Span<const Value> in, const void* attrs, uint64_t attrs_size, Str name,
            Span<Value> out) noexcept override;
  Code scope(Str name, uint32_t push) noexcept override;
  /// The name stays empty: it would not outlive the call.
  Code shape(Value v, TensorDesc* out, uint64_t out_size) noexcept override;

 private:
  template <class F>
  Code guarded(const char* where, F&& body) noexcept;
  Code report(Code code, const char* where, const char* message) noexcept;
  Value add_boundary(Role role, const std::string& name, DType t, Span<const int64_t> dims, const std::string& init);
  Code add_initialised(Role role, const char* where, Str name, DType t, Span<const int64_t> dims, Str init,
                       Value* out) noexcept;

  Graph& graph_;
  FailFn fail_;
  std::set<std::string> names_;        // of boundary values
  std::vector<uint32_t> open_scopes_;  // indices into graph_.scopes
  std::string source_name_;
  DType source_type_ = DType::f32;
  float source_mean_[4] = {};
  float source_stdev_[4] = {};
};

/// Whether `init` is an initial value that a tensor of this rank can have.
/// Errors: usage, naming what is wrong and how the rule is written, or the rules that exist.
void check_init(const std::string& init, std::size_t rank);

}  // namespace convoy::ir
