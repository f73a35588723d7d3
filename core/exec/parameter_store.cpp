#include "exec/parameter_store.hpp"

#include "error.hpp"

namespace convoy::exec {

const Buffer& ParameterStore::ensure(const ir::Tensor& t) {
  const auto found = by_name_.find(t.name);
  if (found != by_name_.end()) {
    const ir::Tensor& old = found->second.tensor;
    if (old.dims != t.dims || old.dtype != t.dtype || old.role != t.role)
      throw Error(ErrorKind::bug, "two graphs of one run disagree about '" + t.name + "'");
    return found->second.memory.get();
  }
  const uint64_t bytes = ir::bytes_of(t);
  Entry entry{t, DeviceBuffer(device_, bytes, device_.compute_memory(), "'" + t.name + "'")};
  bytes_ += bytes;
  const auto at = by_name_.emplace(t.name, std::move(entry)).first;
  order_.push_back(&at->second);
  return at->second.memory.get();
}

}  // namespace convoy::exec
