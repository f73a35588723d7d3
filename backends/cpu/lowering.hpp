// What an operator's file has to turn its node into steps: values in the layouts it asks for, places for results,
// primitives and kernels. Keeps account of where every value lies, and inserts a reorder where a reader wants
// another layout than the writer chose. Decides no layout itself.
#pragma once

#include "fusion.hpp"
#include "graph_index.hpp"
#include "layout.hpp"
#include "schedule.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convoy::cpu {

/// How a group was lowered, for IExecutable::describe.
struct GroupNote {
  std::string text;
  bool refused = false;
  uint32_t first_step = 0, steps = 0;
};

class Lowering {
 public:
  /// `hooks` may be null. All outlive the lowering.
  Lowering(const GraphIndex& graph, const std::vector<Group>& groups, Schedule& schedule, IStepHooks* hooks);

  const GraphIndex& graph() const { return graph_; }
  IStepHooks* hooks() const { return hooks_; }

  // ---- what the compiler calls, once a group -----------------------------------------------------------------
  void begin(const Group& group);
  /// Moves results that the core wants where it wants them.
  GroupNote end();
  /// In place of end(), where the group was refused: later nodes still find its outputs.
  GroupNote refuse(const std::string& reason);

  // ---- reading -----------------------------------------------------------------------------------------------
  /// The layout in which `v` is best taken: as its writer chose it, plain only where there is no other.
  Desc preferred(Value v) const;
  /// `v` as `wanted`, by a reorder where it does not lie so already. `as`: what the row-major values are to be taken
  /// for (weights with the groups as a dimension of their own). Copies of constants are made in refresh().
  /// Errors: Refused, where `v` is not f32.
  Tensor read(Value v, const Desc& wanted, const Desc* as = nullptr);
  /// Row-major, whatever its type.
  Tensor read(Value v);
  /// A layout in which another operand of a reader of `v` lies, of the same shape; plain where there is none.
  Desc hint(Value v) const;

  // ---- writing -----------------------------------------------------------------------------------------------
  /// A place for `v`, written by the current group.
  Tensor write(Value v, const Desc& desc);
  /// Row-major, whatever its type; for a boundary value its own memory.
  Tensor write(Value v);
  /// The memory of `over`, which holds `input`, where no one reads that any more; else as write().
  Tensor write_over(Value v, const Desc& desc, Value input, const Tensor& over);
  /// `v` is the same memory as `place`, which holds other values too: a view.
  void share(Value v, const Tensor& place);
  /// Whether `place`, which holds `input`, may be written over by the current group.
  bool is_free(Value input, const Tensor& place) const;
  /// Memory without a value: scratch where only one step touches it.
  Tensor make(const Desc& desc);
  Tensor make_bytes(uint64_t bytes);

  // ---- work --------------------------------------------------------------------------------------------------
  /// Adds a primitive with its scratch memory. Errors: Refused, where `p` is none or a reference implementation.
  void primitive(const Primitive& p, std::vector<PrimitiveStep::Argument> arguments, When when = When::run);
  /// `operands`: what `body` gets, in this order. `what` is said in describe().
  void kernel(const std::string& what, const std::vector<Tensor>& operands, KernelStep::Body body,
              When when = When::run);
  void marker(uint32_t bucket, Op op);
  /// A copy of `from` as `to`, both given.
  void reorder(const Tensor& from, const Tensor& to, When when = When::run);
  void say(const std::string& text);

  // ---- between the two passes ----------------------------------------------------------------------------------
  /// What a backward node wants of its forward node beyond values.
  struct Kept {
    Desc layout;
    Tensor tensor;
  };
  /// By forward output: max_pool's and lrn's workspace; by y of a batch_norm its mask.
  std::map<Value, Kept> workspaces;
  /// By saved_inv_std: the variance that oneDNN computes with.
  std::map<Value, Tensor> variances;

  /// Where update and statistics kernels say that something is not finite (uint32_t, not 0), and the loss looks:
  /// oneDNN's ReLU turns a NaN into 0 and would hide it. Cleared by refresh().
  Tensor alarm() const { return alarm_; }

 private:
  const Tensor* find(Value v, const Desc& wanted) const;
  Tensor copy_of(Value v, const Desc& wanted, const Desc* as);
  Tensor boundary_place(Value v);
  uint32_t last_use(Value v) const;
  std::string label(const std::string& how) const;
  void settle(Value v);

  const GraphIndex& graph_;
  Schedule& schedule_;
  IStepHooks* hooks_;
  std::vector<uint32_t> position_of_;               // by node: where its group's work stands
  std::vector<std::vector<Tensor>> places_;         // by value: where it lies, in which layouts
  std::vector<std::optional<BufferId>> boundary_;   // by value
  std::map<BufferId, std::vector<Value>> holds_;    // values in a buffer
  Tensor alarm_;
  const Group* group_ = nullptr;
  std::string text_;
  uint32_t reorders_ = 0;
  uint32_t first_step_ = 0;
};

/// Errors: Refused, where `p` is none, or a plain loop of oneDNN's.
void need_implementation(const Primitive& p);

/// The better of a choice that oneDNN was free to make and one that keeps the layouts at hand: the latter where it
/// is the same implementation and saves a reorder.
const Primitive& keep_if_equal(const Primitive& free, const Primitive& kept);

/// One row of the table of operators, made by CMake from the files of ops/.
struct OpLowering {
  Op op;
  void (*lower)(Lowering&, const Group&);
};
/// Null where this backend does not know the operator.
const OpLowering* find_lowering(Op op);

/// Errors: Refused.
void need_f32(const GraphIndex& g, Value v);
void need_rank(const GraphIndex& g, Value v, uint32_t rank);

}  // namespace convoy::cpu
