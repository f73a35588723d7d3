// Gradient buckets: which gradients travel together, where each lies in its bucket, and the markers at which
// hooks are called. Decided before compilation, so that backends write gradients in place.
#pragma once

#include "ir/autodiff.hpp"
#include "ir/graph.hpp"

#include <cstdint>
#include <vector>

namespace convoy::ir {

/// Bytes of each bucket, gaps for alignment included.
struct BucketPlan {
  std::vector<uint64_t> bytes;
};

/// Fills buckets in the order in which gradients become complete: the first one up to `first_bytes` (small, so that
/// communication starts early), the others up to `bucket_bytes`; a gradient larger than that has one of its own.
/// Sets bucket and offset of each gradient and inserts grads_ready behind a bucket's last writer and params_needed
/// before the first update node that reads one of its gradients or parameters; at the end where there is none.
/// Call after the update was emitted, once. Errors: bug, where nothing writes a gradient.
BucketPlan plan_buckets(Graph& graph, const Gradients& gradients, uint64_t bucket_bytes, uint64_t first_bytes);

}  // namespace convoy::ir
