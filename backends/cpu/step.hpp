// One piece of a compiled step: a oneDNN primitive, an own kernel, or a call of a hook.
// Made while compiling, bound to addresses once, then only run. Nothing here allocates while running.
#pragma once

#include "onednn.hpp"

#include <convoy/abi.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace convoy::cpu {

/// A piece of memory of the executable: part of the arena, or a boundary value.
using BufferId = uint32_t;

/// A tensor in memory.
struct Tensor {
  BufferId buffer = 0;
  Desc desc;
};

class Step {
 public:
  explicit Step(std::string label) : label_(std::move(label)) {}
  virtual ~Step() = default;

  /// Compiles code. Errors: dnnl::error.
  virtual void prepare() {}
  /// `address`: by buffer.
  virtual void bind(const std::vector<void*>& address) = 0;
  virtual Code run(Stream s) noexcept = 0;

  /// "layer1.0.conv1 jit:avx512_core", for messages and profiles.
  const std::string& label() const { return label_; }

 private:
  std::string label_;
};

class PrimitiveStep final : public Step {
 public:
  struct Argument {
    int id;  // DNNL_ARG_...
    Tensor tensor;
  };
  PrimitiveStep(std::string label, Primitive choice, std::vector<Argument> arguments)
      : Step(std::move(label)), choice_(std::move(choice)), arguments_(std::move(arguments)) {}

  void prepare() override;
  void bind(const std::vector<void*>& address) override;
  Code run(Stream s) noexcept override;

 private:
  Primitive choice_;
  std::vector<Argument> arguments_;
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memory_;       // by argument
  std::vector<dnnl_exec_arg_t> prepared_;  // what the C interface takes: made once
};

/// The addresses of a kernel's operands, in the order in which the lowering named them.
class Operands {
 public:
  explicit Operands(void* const* p) : p_(p) {}
  template <class T = float>
  T* at(std::size_t i) const {
    return static_cast<T*>(p_[i]);
  }

 private:
  void* const* p_;
};

class KernelStep final : public Step {
 public:
  using Body = std::function<void(const Operands&)>;
  KernelStep(std::string label, std::vector<BufferId> operands, Body body)
      : Step(std::move(label)), operands_(std::move(operands)), body_(std::move(body)) {}

  void bind(const std::vector<void*>& address) override;
  Code run(Stream s) noexcept override;

 private:
  std::vector<BufferId> operands_;
  std::vector<void*> address_;
  Body body_;
};

class MarkerStep final : public Step {
 public:
  MarkerStep(std::string label, Op op, uint32_t bucket, IStepHooks* hooks)
      : Step(std::move(label)), op_(op), bucket_(bucket), hooks_(hooks) {}

  void bind(const std::vector<void*>&) override {}
  Code run(Stream s) noexcept override;

 private:
  Op op_;
  uint32_t bucket_;
  IStepHooks* hooks_;  // null: nobody listens
};

}  // namespace convoy::cpu
