#include "cudnn_graph.hpp"

#include <convoy/sdk/plugin.hpp>

#include <algorithm>
#include <map>

namespace convoy::cuda {

namespace {

constexpr uint64_t kWorkspaceLimit = 512ull << 20;  // a plan that wants more is left alone: the arena pays for the largest
constexpr int64_t kPointerAlignment = 16;           // bytes; what the planner gives is more

void check(cudnnStatus_t s, const char* what) {
  if (s == CUDNN_STATUS_SUCCESS) return;
  char said[512] = {};
  cudnn().last_error(said, sizeof said);
  throw sdk::Error(s == CUDNN_STATUS_ALLOC_FAILED ? Code::out_of_memory : Code::device,
                   std::string("cuDNN, ") + what + ": " + cudnn().error_string(s) + (said[0] != '\0' ? std::string(", ") + said : ""));
}

/// One object of the C interface. Owns it. Movable.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) { check(cudnn().descriptor_new(type, &d_), "make a descriptor"); }
  Descriptor(Descriptor&& o) noexcept : d_(std::exchange(o.d_, nullptr)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(d_, o.d_);
    return *this;
  }
  ~Descriptor() {
    if (d_ != nullptr) cudnn().descriptor_free(d_);
  }

  cudnnBackendDescriptor_t get() const { return d_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    check(cudnn().set(d_, name, type, count, values), "set an attribute");
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    const cudnnBackendDescriptor_t d = other.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
  }
  template <class T>
  T get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    T value{};
    int64_t count = 0;
    check(cudnn().get(d_, name, type, 1, &count, &value), "read an attribute");
    return value;
  }
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room) const {
    std::vector<T> values(static_cast<std::size_t>(room));
    int64_t count = 0;
    check(cudnn().get(d_, name, type, room, &count, values.data()), "read a list");
    values.resize(static_cast<std::size_t>(std::min(count, room)));
    return values;
  }
  /// Descriptors that the library fills in.
  std::vector<Descriptor> children(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const {
    int64_t count = 0;
    check(cudnn().get(d_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr), "count results");
    std::vector<Descriptor> out;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < count; ++i) {
      out.emplace_back(type);
      raw.push_back(out.back().get());
    }
    if (count > 0) check(cudnn().get(d_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()), "read results");
    out.erase(out.begin() + std::min<int64_t>(count, static_cast<int64_t>(out.size())), out.end());
    return out;
  }
  void finalize(const char* what) { check(cudnn().finalize(d_), what); }

 private:
  cudnnBackendDescriptor_t d_ = nullptr;
};

enum Uid : int64_t { kX = 1, kW, kY, kBias, kAdd, kFirstVirtual = 100 };

cudnnDataType_t data_type(Type t) {
  return t == Type::f32 ? CUDNN_DATA_FLOAT : t == Type::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

/// `dims` (N, C, H, W) logically; channels last in memory.
Descriptor tensor(int64_t uid, const std::vector<int64_t>& dims, Type type, bool is_virtual = false) {
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t C = dims[1], H = dims[2], W = dims[3];
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, uid);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type(type));
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kPointerAlignment);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  d.set(CUDNN_ATTR_TENSOR_STRIDES, std::vector<int64_t>{H * W * C, 1, W * C, C});
  if (is_virtual) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  d.finalize("describe a tensor");
  return d;
}

/// The operation graph of a problem, with all that it is made of.
class OperationGraph {
 public:
  OperationGraph(cudnnHandle_t handle, const ConvProblem& p, Epilogue epilogue)
      : problem_(p), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    add_convolution(epilogue);
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const auto& op : operations_) raw.push_back(op.get());
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data());
    graph_.finalize("describe an operation graph");
  }
  const Descriptor& get() const { return graph_; }

 private:
  std::vector<int64_t> x_dims() const { return {problem_.N, problem_.C, problem_.H, problem_.W}; }
  std::vector<int64_t> w_dims() const { return {problem_.K, problem_.C / problem_.groups, problem_.R, problem_.S}; }
  std::vector<int64_t> y_dims() const { return {problem_.N, problem_.K, problem_.P, problem_.Q}; }

  Descriptor convolution() const {
    Descriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const auto two = [](const std::array<int64_t, 2>& a) { return std::vector<int64_t>{a[0], a[1]}; };
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2});
    d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    d.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, two(problem_.pad_lo));
    d.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, two(problem_.pad_hi));
    d.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, two(problem_.dilation));
    d.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, two(problem_.stride));
    d.finalize("describe a convolution");
    return d;
  }

  const Descriptor& keep(Descriptor d) {
    parts_.push_back(std::make_unique<Descriptor>(std::move(d)));
    return *parts_.back();
  }

  void add_convolution(Epilogue epilogue) {
    const ConvProblem& p = problem_;
    const bool fused = p.bias || p.add || p.relu;
    const Direction dir = p.direction;
    const Descriptor& conv = keep(convolution());
    const Descriptor& x = keep(tensor(kX, x_dims(), dir == Direction::input_gradient ? p.out : p.type));
    const Descriptor& w = keep(tensor(kW, w_dims(), dir == Direction::weight_gradient ? p.out : p.type));
    const Descriptor& y = keep(fused ? tensor(kFirstVirtual, y_dims(), Type::f32, true)
                                     : tensor(kY, y_dims(), dir == Direction::forward ? p.out : p.type));
    const float one = 1, zero = 0;
    switch (dir) {
      case Direction::forward: {
        Descriptor op(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, one);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, zero);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
        op.finalize("describe a forward convolution");
        operations_.push_back(std::move(op));
        break;
      }
      case Direction::input_gradient: {
        Descriptor op(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, one);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, zero);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, conv);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, x);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, y);
        op.finalize("describe an input gradient");
        operations_.push_back(std::move(op));
        break;
      }
      case Direction::weight_gradient: {
        Descriptor op(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, one);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, zero);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, conv);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, w);
        op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, y);
        op.finalize("describe a weight gradient");
        operations_.push_back(std::move(op));
        break;
      }
    }
    if (fused) add_epilogue(y, epilogue);
  }

  void add_epilogue(const Descriptor& from, Epilogue order) {
    std::vector<Uid> steps;
    if (problem_.bias) steps.push_back(kBias);
    if (problem_.add) steps.push_back(kAdd);
    if (order == Epilogue::add_then_bias) std::reverse(steps.begin(), steps.end());
    const Descriptor* reached = &from;
    int64_t next = kFirstVirtual + 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool last = i + 1 == steps.size() && !problem_.relu;
      const Descriptor& operand = steps[i] == kBias ? keep(tensor(kBias, {1, problem_.K, 1, 1}, problem_.type))
                                                    : keep(tensor(kAdd, y_dims(), problem_.type));
      const Descriptor& to = keep(last ? tensor(kY, y_dims(), problem_.out) : tensor(next++, y_dims(), Type::f32, true));
      pointwise(CUDNN_POINTWISE_ADD, *reached, &operand, to);
      reached = &to;
    }
    if (problem_.relu) pointwise(CUDNN_POINTWISE_RELU_FWD, *reached, nullptr, keep(tensor(kY, y_dims(), problem_.out)));
  }

  void pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y) {
    Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    kind.finalize("describe a pointwise operation");
    const Descriptor& kept = keep(std::move(kind));
    Descriptor op(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kept);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    op.finalize("describe a pointwise step");
    operations_.push_back(std::move(op));
  }

  const ConvProblem& problem_;
  std::vector<std::unique_ptr<Descriptor>> parts_;
  std::vector<Descriptor> operations_;
  Descriptor graph_;
};

class CudnnPlan final : public Plan {
 public:
  CudnnPlan(std::shared_ptr<CudnnHandle> handle, Descriptor plan, const ConvProblem& p, std::string tag)
      : handle_(std::move(handle)), plan_(std::move(plan)), bias_(p.bias), add_(p.add), tag_(std::move(tag)) {
    workspace_ = static_cast<uint64_t>(plan_.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64));
  }

  uint64_t workspace_bytes() const override { return workspace_; }
  std::string tag() const override { return tag_; }

  void enqueue(const PlanArguments& a, cudaStream_t s) const override {
    int64_t uids[5] = {kX, kW, kY};
    void* pointers[5] = {a.x, a.w, a.y};
    int64_t n = 3;
    if (bias_) add_operand(uids, pointers, n, kBias, a.bias);
    if (add_) add_operand(uids, pointers, n, kAdd, a.add);
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, uids);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, pointers);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &a.workspace);
    pack.finalize("bind addresses");
    check(cudnn().set_stream(handle_->get(), s), "choose a stream");
    check(cudnn().execute(handle_->get(), plan_.get(), pack.get()), "run a plan");
  }

 private:
  static void add_operand(int64_t* uids, void** pointers, int64_t& n, int64_t uid, const void* p) {
    uids[n] = uid;
    pointers[n] = const_cast<void*>(p);
    ++n;
  }

  std::shared_ptr<CudnnHandle> handle_;
  Descriptor plan_;
  bool bias_, add_;
  uint64_t workspace_ = 0;
  std::string tag_;
};

/// An engine with its notes and knobs, as a heuristic proposed it.
struct Configuration {
  Descriptor config;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::string tag;

  bool has(cudnnBackendNumericalNote_t note) const { return std::find(notes.begin(), notes.end(), note) != notes.end(); }
};

Configuration describe(Descriptor config) {
  auto engines = config.children(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  if (engines.empty()) throw sdk::Error(Code::device, "cuDNN proposed a configuration without an engine");
  const Descriptor& engine = engines[0];
  auto notes = engine.list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                        CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  std::string tag = "eng" + std::to_string(engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64));
  for (const auto& knob : config.children(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR))
    tag += "_k" + std::to_string(knob.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE)) + "=" +
           std::to_string(knob.get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64));
  return {std::move(config), std::move(notes), std::move(tag)};
}

/// Whether the numerics that an engine admits to are what the user asked for.
bool acceptable(const Configuration& c, const ConvProblem& p) {
  if (p.deterministic && c.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (p.type != Type::f32) return true;
  // In f32 the accuracy is what one asks for: large tiles of Winograd's lose two digits of a gradient.
  for (auto note : {CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
                    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13})
    if (c.has(note)) return false;
  return p.tf32 || (!c.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && !c.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
}

std::vector<Descriptor> proposals(const OperationGraph& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  heuristic.finalize("ask the heuristics");
  return heuristic.children(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

std::string name_of_plan(const Configuration& c, Epilogue epilogue) {
  return (epilogue == Epilogue::bias_then_add ? "cudnn " : "cudnn add-first ") + c.tag;
}

std::shared_ptr<Plan> make_plan(const std::shared_ptr<CudnnHandle>& handle, const Configuration& c, const ConvProblem& p, const std::string& name) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle->get());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, c.config);
  plan.finalize("make a plan");
  return std::make_shared<CudnnPlan>(handle, std::move(plan), p, name);
}

}  // namespace

CudnnHandle::CudnnHandle() { check(cudnn().create(&handle_), "open the library"); }
CudnnHandle::~CudnnHandle() { cudnn().destroy(handle_); }

std::vector<std::shared_ptr<Plan>> cudnn_plans(const std::shared_ptr<CudnnHandle>& handle, const ConvProblem& p,
                                               Epilogue epilogue, int limit, const std::string& wanted, std::string& reason) {
  std::vector<std::shared_ptr<Plan>> out;
  std::map<std::string, bool> seen;
  int unwanted = 0;
  try {
    const OperationGraph graph(handle->get(), p, epilogue);
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      for (auto& proposal : proposals(graph, mode)) {
        if (static_cast<int>(out.size()) >= limit) return out;
        Configuration c = describe(std::move(proposal));
        if (!seen.emplace(c.tag, true).second || (!wanted.empty() && wanted != name_of_plan(c, epilogue))) continue;
        if (!acceptable(c, p)) {
          ++unwanted;
          continue;
        }
        try {
          auto plan = make_plan(handle, c, p, name_of_plan(c, epilogue));
          if (plan->workspace_bytes() <= kWorkspaceLimit) out.push_back(std::move(plan));
        } catch (const sdk::Error& e) {
          reason = e.what();  // the heuristics propose what the engine then refuses: that is how one asks
        }
      }
  } catch (const sdk::Error& e) {
    reason = e.what();  // no engine for the pattern as a whole
  }
  if (out.empty() && unwanted > 0)
    reason = std::to_string(unwanted) + " engines, none with the precision and determinism asked for";
  return out;
}

}  // namespace convoy::cuda
