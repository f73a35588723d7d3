#include "own_plan.hpp"

#include "cuda_error.hpp"

namespace convoy::cuda {

namespace {

class EpiloguePlan final : public Plan {
 public:
  EpiloguePlan(const ConvProblem& p, std::shared_ptr<Plan> plain) : problem_(p), plain_(std::move(plain)) {}
  uint64_t workspace_bytes() const override { return plain_->workspace_bytes(); }
  std::string tag() const override { return plain_->tag() + kEpilogueMark; }

  void enqueue(const PlanArguments& a, cudaStream_t s) const override {
    plain_->enqueue(a, s);
    const int64_t rows = problem_.N * problem_.P * problem_.Q;
    if (!problem_.bias && !problem_.add) {
      ReluArgs r;
      r.x = {a.y, 0}, r.y = {a.y, 0}, r.type = problem_.out, r.rows = rows, r.c = problem_.K;
      return check(relu(r, s), "relu");
    }
    if (!problem_.bias) {
      AddArgs r;
      r.a = {a.y, 0}, r.b = {a.add, 0}, r.y = {a.y, 0}, r.relu = problem_.relu, r.type = problem_.out, r.rows = rows, r.c = problem_.K;
      return check(add(r, s), "add");
    }
    BiasAddArgs r;
    r.x = {a.y, 0}, r.bias = a.bias_f32, r.add = {problem_.add ? a.add : nullptr, 0}, r.relu = problem_.relu, r.y = {a.y, 0};
    r.type = problem_.out, r.rows = rows, r.c = problem_.K;
    check(bias_add(r, s), "bias_add");
  }

 private:
  ConvProblem problem_;
  std::shared_ptr<Plan> plain_;
};

class DirectPlan final : public Plan {
 public:
  explicit DirectPlan(const ConvProblem& p) : problem_(p) {
    const auto whole = [](int64_t v) { return static_cast<int>(v); };
    shape_.n = p.N, shape_.h = p.H, shape_.w = p.W, shape_.c = p.C, shape_.k = p.K, shape_.p = p.P, shape_.q = p.Q;
    shape_.kernel[0] = whole(p.R), shape_.kernel[1] = whole(p.S), shape_.groups = whole(p.groups);
    for (std::size_t i = 0; i < 2; ++i) {
      shape_.stride[i] = whole(p.stride[i]);
      shape_.dilation[i] = whole(p.dilation[i]);
      shape_.pad_lo[i] = whole(p.pad_lo[i]);
    }
  }
  uint64_t workspace_bytes() const override { return 0; }
  std::string tag() const override { return "direct"; }

  void enqueue(const PlanArguments& a, cudaStream_t s) const override {
    switch (problem_.direction) {
      case Direction::forward: {
        ConvDirectArgs d;
        d.shape = shape_, d.type = problem_.type, d.x = {a.x, 0}, d.w = a.w, d.y = {a.y, 0};
        return check(conv_direct(d, s), "conv_direct");
      }
      case Direction::input_gradient: {
        ConvDirectDgradArgs d;
        d.shape = shape_, d.type = problem_.type, d.dy = {a.y, 0}, d.w = a.w, d.dx = {a.x, 0};
        return check(conv_direct_dgrad(d, s), "conv_direct_dgrad");
      }
      case Direction::weight_gradient: {
        ConvDirectWgradArgs d;
        d.shape = shape_, d.type = problem_.type, d.dy = {a.y, 0}, d.x = {a.x, 0}, d.dw = a.w, d.dw_type = problem_.out;
        return check(conv_direct_wgrad(d, s), "conv_direct_wgrad");
      }
    }
  }

 private:
  ConvProblem problem_;
  ConvShape shape_;
};

}  // namespace

ConvProblem bare(const ConvProblem& p) {
  ConvProblem out = p;
  out.bias = out.add = out.relu = false;
  return out;
}

std::shared_ptr<Plan> with_epilogue(const ConvProblem& p, std::shared_ptr<Plan> plain) {
  return std::make_shared<EpiloguePlan>(p, std::move(plain));
}

std::shared_ptr<Plan> direct_plan(const ConvProblem& p) { return std::make_shared<DirectPlan>(p); }

}  // namespace convoy::cuda
