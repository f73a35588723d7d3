#include "matmul.hpp"

#include <convoy/sdk/plugin.hpp>

#include <utility>

namespace convoy::cuda {

namespace {

constexpr uint64_t kWorkspaceBytes = 32ull << 20;  // what NVIDIA's documentation advises for Hopper

void check(cublasStatus_t s, const char* what) {
  if (s == CUBLAS_STATUS_SUCCESS) return;
  throw sdk::Error(s == CUBLAS_STATUS_ALLOC_FAILED ? Code::out_of_memory : Code::device,
                   std::string("cuBLASLt, ") + what + ": " + cublas_lt().status_string(s));
}

cudaDataType_t data_type(Type t) { return t == Type::f32 ? CUDA_R_32F : t == Type::bf16 ? CUDA_R_16BF : CUDA_R_16F; }

/// A column-major matrix: what is row-major (rows, columns) here is (columns, rows) there.
class MatrixLayout {
 public:
  MatrixLayout(Type type, int64_t rows, int64_t columns) {
    check(cublas_lt().layout_new(&layout_, data_type(type), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows), "describe a matrix");
  }
  MatrixLayout(const MatrixLayout&) = delete;
  MatrixLayout& operator=(const MatrixLayout&) = delete;
  ~MatrixLayout() { cublas_lt().layout_free(layout_); }
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// The product of a problem, D = A B, in column-major terms, with rows = N H W of the images:
///   forward          D (K x rows) = w^T (K x C) x (C x rows)
///   input gradient   D (C x rows) = w (C x K) y (K x rows)
///   weight gradient  D (C x K)    = x (C x rows) y^T (rows x K)
struct Shapes {
  explicit Shapes(const ConvProblem& p) {
    const int64_t rows = p.N * p.H * p.W;
    switch (p.direction) {
      case Direction::forward: a = {p.C, p.K}, b = {p.C, rows}, d = {p.K, rows}, transpose_a = true; break;
      case Direction::input_gradient: a = {p.C, p.K}, b = {p.K, rows}, d = {p.C, rows}; break;
      case Direction::weight_gradient: a = {p.C, rows}, b = {p.K, rows}, d = {p.C, p.K}, transpose_b = true; break;
    }
  }
  std::pair<int64_t, int64_t> a, b, d;
  bool transpose_a = false, transpose_b = false;
};

class MatmulPlan final : public Plan {
 public:
  MatmulPlan(std::shared_ptr<MatmulHandle> handle, const ConvProblem& p)
      : handle_(std::move(handle)), direction_(p.direction), add_(p.add), bias_(p.bias), wide_(p.out == Type::f32), shapes_(p),
        a_(p.type, shapes_.a.first, shapes_.a.second), b_(p.type, shapes_.b.first, shapes_.b.second),
        c_(p.add ? p.type : p.out, shapes_.d.first, shapes_.d.second), d_(p.out, shapes_.d.first, shapes_.d.second) {
    const auto compute = p.type == Type::f32 && p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublas_lt().desc_new(&product_, compute, CUDA_R_32F), "describe a product");
    const auto yes = CUBLAS_OP_T, no = CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, shapes_.transpose_a ? yes : no);
    set(CUBLASLT_MATMUL_DESC_TRANSB, shapes_.transpose_b ? yes : no);
    const auto epilogue = p.bias && p.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : p.bias ? CUBLASLT_EPILOGUE_BIAS
                          : p.relu         ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (p.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(p.out));
  }
  ~MatmulPlan() override {
    if (product_ != nullptr) cublas_lt().desc_free(product_);
  }

  /// The heuristic's proposals for this product, best first.
  std::vector<cublasLtMatmulHeuristicResult_t> proposals(int limit) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublas_lt().preference_new(&preference), "make a preference");
    cublas_lt().preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes);
    std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(limit));
    int n = 0;
    const cublasStatus_t s = cublas_lt().heuristic(handle_->get(), product_, a_.get(), b_.get(), c_.get(), d_.get(), preference, limit, found.data(), &n);
    cublas_lt().preference_free(preference);
    check(s, "ask the heuristic");
    found.resize(static_cast<std::size_t>(n));
    std::erase_if(found, [](const auto& f) { return f.state != CUBLAS_STATUS_SUCCESS; });
    return found;
  }
  void choose(const cublasLtMatmulHeuristicResult_t& found, int rank) {
    choice_ = found;
    rank_ = rank;
  }

  uint64_t workspace_bytes() const override { return choice_.workspaceSize; }
  std::string tag() const override {
    const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t what) {
      int32_t value = 0;
      std::size_t written = 0;
      cublas_lt().algo_get(&choice_.algo, what, &value, sizeof value, &written);
      return std::to_string(value);
    };
    const std::string rank = " #" + std::to_string(rank_);  // two proposals may differ in what has no name
    return "cublaslt algo" + number(CUBLASLT_ALGO_CONFIG_ID) + " tile" + number(CUBLASLT_ALGO_CONFIG_TILE_ID) + " splitk" +
           number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + rank;
  }

  void enqueue(const PlanArguments& p, cudaStream_t s) const override {
    if (bias_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, wide_ ? static_cast<const void*>(p.bias_f32) : p.bias);
    const float one = 1, beta = add_ ? 1.0f : 0.0f;
    const bool forward = direction_ == Direction::forward, weights = direction_ == Direction::weight_gradient;
    void* a = weights ? p.x : p.w;
    void* b = forward ? p.x : p.y;
    void* d = forward ? p.y : weights ? p.w : p.x;
    check(cublas_lt().matmul(handle_->get(), product_, &one, a, a_.get(), b, b_.get(), &beta, add_ ? p.add : d, c_.get(), d, d_.get(), &choice_.algo,
                             p.workspace, choice_.workspaceSize, s),
          "run a product");
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t what, const T& value) const {
    check(cublas_lt().desc_set(product_, what, &value, sizeof value), "set an attribute");
  }

  std::shared_ptr<MatmulHandle> handle_;
  Direction direction_;
  bool add_, bias_, wide_;
  Shapes shapes_;
  MatrixLayout a_, b_, c_, d_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_{};
  int rank_ = 0;
};

}  // namespace

MatmulHandle::MatmulHandle() { check(cublas_lt().create(&handle_), "open the library"); }
MatmulHandle::~MatmulHandle() { cublas_lt().destroy(handle_); }

std::vector<std::shared_ptr<Plan>> matmul_plans(const std::shared_ptr<MatmulHandle>& handle, const ConvProblem& p, int limit, std::string& reason) {
  std::vector<std::shared_ptr<Plan>> out;
  if (!p.is_product()) {
    reason = "no matrix product";
    return out;
  }
  try {
    const auto proposals = MatmulPlan(handle, p).proposals(limit);
    for (const auto& proposal : proposals) {
      auto plan = std::make_shared<MatmulPlan>(handle, p);  // one each: the bias pointer lives in the description
      plan->choose(proposal, static_cast<int>(out.size()));
      out.push_back(std::move(plan));
    }
    if (out.empty()) reason = "the heuristic knows no algorithm";
  } catch (const sdk::Error& e) {
    reason = e.what();
  }
  return out;
}

}  // namespace convoy::cuda
