// The memory that lives across steps on one device: parameters, states and frozen values, by name.
// Shared by all programs of a replica (training, evaluation). Not gradients, inputs or outputs.
#pragma once

#include "exec/device.hpp"
#include "ir/graph.hpp"

#include <map>
#include <string>
#include <vector>

namespace convoy::exec {

/// Owns its buffers; their addresses never change. Threads: the replica's.
class ParameterStore {
 public:
  explicit ParameterStore(const Device& device) : device_(device) {}

  struct Entry {
    ir::Tensor tensor;
    DeviceBuffer memory;
  };

  /// The memory of this value, allocated at its first mention. Errors: bug, where an earlier mention had
  /// another shape, type or role; plugin, where memory ran out.
  const Buffer& ensure(const ir::Tensor& t);

  /// In order of first mention.
  const std::vector<const Entry*>& entries() const { return order_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const Device& device_;
  std::map<std::string, Entry> by_name_;
  std::vector<const Entry*> order_;
  uint64_t bytes_ = 0;
};

}  // namespace convoy::exec
