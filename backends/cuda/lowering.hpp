// What an operator's file has to turn its node into steps: values in the forms it asks for, places for results, plans
// and kernels. Keeps account of where every value lies, and converts where a reader wants another form than the writer
// chose. Decides no form itself.
#pragma once

#include "fusion.hpp"
#include "graph_index.hpp"
#include "schedule.hpp"
#include "settings.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convoy::cuda {

/// How a group was lowered, for IExecutable::describe.
struct GroupNote {
  std::string text;
  bool refused = false;
  uint32_t first_step = 0, steps = 0;
};

class Lowering {
 public:
  /// All outlive the lowering.
  Lowering(const GraphIndex& graph, const std::vector<Group>& groups, Schedule& schedule, PlanSearch& search, const Settings& settings);

  const GraphIndex& graph() const { return graph_; }
  const Settings& settings() const { return settings_; }
  /// Of activations, and of the working copies of weights.
  Type compute() const { return compute_; }

  // ---- what the compiler calls, once a group -----------------------------------------------------------------
  void begin(const Group& group);
  /// Moves results that the core wants where it wants them.
  GroupNote end();
  /// In place of end(), where the group was refused: later nodes still find its outputs.
  GroupNote refuse(const std::string& reason);

  // ---- forms -------------------------------------------------------------------------------------------------
  /// Channels last in the compute type: what most kernels take; scalars and vectors stay f32. Errors: Refused, where
  /// `v` is not f32.
  Form activation(Value v) const;
  /// The same as a convolution takes it: three channels of an image are padded.
  Form image(Value v) const;
  /// f32, channels last where the rank is 4.
  Form full(Value v) const;

  // ---- reading -----------------------------------------------------------------------------------------------
  /// `v` in that form, converted where it does not lie so already. Copies of parameters, states and frozen values are
  /// made in refresh(), and again after each update.
  Place read(Value v, const Form& form);
  /// As the core sees it: row-major, its own type.
  Place read(Value v);
  /// Something made of `v` that is no form of it, known by `key`: made once by `body` from (v as it lies first, the
  /// result), at the times at which read() would convert.
  Place derived(Value v, const std::string& key, uint64_t bytes, const KernelStep::Body& body);

  // ---- writing -----------------------------------------------------------------------------------------------
  /// A place for `v`, written by the current group.
  Place write(Value v, const Form& form);
  /// `v` is the same memory as `place`: a view.
  void share(Value v, const Place& place);
  /// A place for what derived() will find under `key`; the current group writes it, and not `v` itself.
  Place write_derived(Value v, const std::string& key, uint64_t bytes);
  /// Memory without a value.
  Place make(uint64_t bytes);
  /// Of an updated parameter: a copy that an update kernel may write along, in the order of its f32 original; then
  /// end() leaves it alone. Null where there is none.
  const Place* copy_to_write(Value v);

  // ---- work --------------------------------------------------------------------------------------------------
  struct Use {
    Place place;
    bool writes;
  };
  static Use in(const Place& p) { return {p, false}; }
  static Use out(const Place& p) { return {p, true}; }

  /// `operands`: what `body` gets, in this order. `what` is said in describe().
  void kernel(const std::string& what, const std::vector<Use>& operands, KernelStep::Body body, When when = When::run);
  struct PlanPlaces {
    Place x, w, y, bias, bias_f32, add;
  };
  void plan(const ConvProblem& p, const PlanPlaces& places);
  void marker(Marker m);
  void say(const std::string& text);

  // ---- between the two passes ----------------------------------------------------------------------------------
  /// What a backward node wants of its forward node beyond values, by forward output: relu masks, max_pool's argmax.
  std::map<Value, Place> kept;

  // ---- loss scale of fp16 -------------------------------------------------------------------------------------
  /// The core's factor on all gradients, with the device's own loss scale where the precision needs one.
  Place scaled(Value scale);
  /// Takes the device's loss scale out of every gradient that has been written and still has it.
  void unscale_gradients();
  /// Not 0 where a gradient is not finite, so that this step must not update; absent where the precision needs none.
  std::optional<Place> skip_flag();
  /// Behind the last group: the loss scale of the next step.
  void finish();

 private:
  struct Derived {
    Place place;
    KernelStep::Body body;
  };
  const Place* find(Value v, const Form& form) const;
  Place boundary_place(Value v);
  void derive_step(Value v, const Derived& d, When when);
  void convert_step(Value v, const Place& from, const Place& to, When when);
  std::string label(const std::string& how) const;
  struct LossScale {
    Place state;   // LossScaleState
    Place factor;  // f32, what the loss's gradient is multiplied with
  };
  void settle(Value v);
  bool has_markers() const;
  void renew_copies(Value updated);

  const GraphIndex& graph_;
  Schedule& schedule_;
  PlanSearch& search_;
  const Settings& settings_;
  Type compute_;
  std::vector<std::vector<Place>> places_;         // by value: where it lies, in which forms
  std::vector<std::optional<BufferId>> boundary_;  // by value
  std::vector<bool> written_along_;                // by value: its copies are up to date
  const Group* group_ = nullptr;
  std::string text_;
  uint32_t conversions_ = 0;
  uint32_t first_step_ = 0;
  std::optional<LossScale> loss_scale_;
  std::map<Value, std::map<std::string, Derived>> derived_;
  std::vector<bool> unscaled_;  // by value
  bool checked_ = false;        // the gradients that the updates read are known to be finite, or not
};

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

}  // namespace convoy::cuda
