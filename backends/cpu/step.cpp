#include "step.hpp"

#include <convoy/sdk/plugin.hpp>

namespace convoy::cpu {

void PrimitiveStep::prepare() {
  primitive_ = choice_.create();
  stream_ = dnnl::stream(engine());
}

void PrimitiveStep::bind(const std::vector<void*>& address) {
  memory_.clear();
  prepared_.clear();
  for (const Argument& a : arguments_) {
    memory_.emplace_back(a.tensor.desc, engine(), address[a.tensor.buffer]);
    prepared_.push_back({a.id, memory_.back().get()});
  }
}

Code PrimitiveStep::run(Stream) noexcept {
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                      static_cast<int>(prepared_.size()), prepared_.data());
  if (status == dnnl_success) return Code::ok;
  return sdk::guard(label().c_str(), [&] {
    throw sdk::Error(status == dnnl_out_of_memory ? Code::out_of_memory : Code::device,
                     "oneDNN failed with status " + std::to_string(status));
  });
}

void KernelStep::bind(const std::vector<void*>& address) {
  address_.clear();
  for (BufferId b : operands_) address_.push_back(address[b]);
}

Code KernelStep::run(Stream) noexcept {
  body_(Operands(address_.data()));
  return Code::ok;
}

Code MarkerStep::run(Stream s) noexcept {
  if (hooks_ == nullptr) return Code::ok;
  return op_ == Op::grads_ready ? hooks_->grads_ready(bucket_, s) : hooks_->params_needed(bucket_, s);
}

}  // namespace convoy::cpu
