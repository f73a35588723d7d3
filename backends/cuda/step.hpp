// One piece of a compiled step: a plan of a vendor's library, own kernels, or a call of a hook.
// Made while compiling, bound to addresses once, then only enqueued.
#pragma once

#include "form.hpp"
#include "plan_search.hpp"

#include <convoy/abi.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace convoy::cuda {

/// A piece of memory of the executable: part of the arena, or a boundary value.
using BufferId = uint32_t;

/// A value, or a piece without one, in memory.
struct Place {
  BufferId buffer = 0;
  Form form;
};

/// What a step touches.
struct Operand {
  BufferId buffer = 0;
  bool writes = false;
};

class Step {
 public:
  Step(std::string label, std::vector<Operand> operands) : label_(std::move(label)), operands_(std::move(operands)) {}
  virtual ~Step() = default;

  /// `address`: by buffer.
  void bind(const std::vector<void*>& address) {
    address_.clear();
    for (const Operand& o : operands_) address_.push_back(address[o.buffer]);
  }
  /// Enqueues only. Errors: sdk::Error, naming the node.
  virtual void enqueue(cudaStream_t s) = 0;
  /// Null where this is no call of a hook.
  virtual const struct Marker* marker() const { return nullptr; }

  /// "layer1.0.conv1 cudnn eng47", for messages and profiles.
  virtual std::string label() const { return label_; }
  const std::vector<Operand>& operands() const { return operands_; }

 protected:
  const std::vector<void*>& addresses() const { return address_; }

 private:
  std::string label_;
  std::vector<Operand> operands_;
  std::vector<void*> address_;
};

/// The addresses of a kernel's operands, in the order in which the lowering named them.
class Operands {
 public:
  explicit Operands(void* const* p) : p_(p) {}
  template <class T = float>
  T* at(std::size_t i) const {
    return static_cast<T*>(p_[i]);
  }
  /// Those from the i-th on.
  Operands from(std::size_t i) const { return Operands(p_ + i); }

 private:
  void* const* p_;
};

class KernelStep final : public Step {
 public:
  using Body = std::function<cudaError_t(const Operands&, cudaStream_t)>;
  KernelStep(std::string label, std::vector<Operand> operands, Body body)
      : Step(std::move(label), std::move(operands)), body_(std::move(body)) {}
  void enqueue(cudaStream_t s) override;

 private:
  Body body_;
};

/// Operands: x, w, y, workspace, then bias, bias in f32 and add where the problem has them.
class PlanStep final : public Step {
 public:
  PlanStep(std::string label, std::vector<Operand> operands, std::shared_ptr<const Choice> choice)
      : Step(std::move(label), std::move(operands)), choice_(std::move(choice)) {}
  void enqueue(cudaStream_t s) override;
  std::string label() const override;
  const Choice& choice() const { return *choice_; }

 private:
  std::shared_ptr<const Choice> choice_;
};

struct Marker {
  Op op;
  uint32_t bucket;
};

/// Enqueues nothing itself: the executable calls the hook here.
class MarkerStep final : public Step {
 public:
  MarkerStep(std::string label, Marker marker) : Step(std::move(label), {}), marker_(marker) {}
  void enqueue(cudaStream_t) override {}
  const Marker* marker() const override { return &marker_; }

 private:
  Marker marker_;
};

}  // namespace convoy::cuda
