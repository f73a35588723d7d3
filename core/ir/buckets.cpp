#include "ir/buckets.hpp"

#include "error.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace convoy::ir {

namespace {

constexpr uint64_t kAlignment = 64;  // a cache line, and what vector units like

struct Row {
  Value param;
  Value grad;
  std::size_t writer;  // node index
};

struct Bucket {
  std::vector<Value> params, grads;
  DType dtype = DType::f32;
  uint64_t bytes = 0;
  std::size_t last_writer = 0;
};

std::vector<Row> in_order_of_completion(const Graph& graph, const Gradients& gradients) {
  std::map<Value, std::size_t> writer;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (Value v : graph.nodes[i].out) writer[v] = i;
  std::vector<Row> rows;
  for (const auto& [param, grad] : gradients.pairs) {
    const auto found = writer.find(grad);
    if (found == writer.end()) throw Error(ErrorKind::bug, fmt::format("nothing writes '{}'", graph[grad].name));
    rows.push_back({param, grad, found->second});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.writer < b.writer; });
  return rows;
}

std::vector<Bucket> fill_buckets(Graph& graph, const std::vector<Row>& rows, uint64_t bucket_bytes, uint64_t first_bytes) {
  std::vector<Bucket> buckets;
  for (const Row& row : rows) {
    Tensor& grad = graph[row.grad];
    const uint64_t bytes = (bytes_of(grad) + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t room = buckets.size() == 1 ? first_bytes : bucket_bytes;
    if (buckets.empty() || buckets.back().bytes + bytes > room || buckets.back().dtype != grad.dtype) {
      buckets.emplace_back();
      buckets.back().dtype = grad.dtype;
    }
    Bucket& b = buckets.back();
    grad.bucket = static_cast<int32_t>(buckets.size() - 1);
    grad.bucket_offset = b.bytes;
    b.bytes += bytes;
    b.params.push_back(row.param);
    b.grads.push_back(row.grad);
    b.last_writer = row.writer;
  }
  return buckets;
}

Node marker(Op op, std::size_t bucket, const std::vector<Value>& in) {
  const MarkerAttrs a{sizeof(MarkerAttrs), static_cast<uint32_t>(bucket)};
  return {op, fmt::format("{}.{}", op == Op::grads_ready ? "grads_ready" : "params_needed", bucket), in, {}, pack(a),
          Phase::marker, 0};
}

/// Puts markers among the nodes. A check of all gradients, or a norm, needs a bucket as much as its update does.
class MarkerPlacement {
 public:
  MarkerPlacement(const Graph& graph, const std::vector<Bucket>& buckets) : buckets_(buckets), needed_(buckets.size(), false) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      for (Value v : buckets[b].params) bucket_of_[v] = b;
      for (Value v : buckets[b].grads) bucket_of_[v] = b;
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) place(i, graph.nodes[i]);
    for (std::size_t b = 0; b < buckets.size(); ++b) need(b);
  }

  std::vector<Node> nodes;

 private:
  void place(std::size_t index, const Node& n) {
    if (n.phase == Phase::update)
      for (Value v : n.in)
        if (const auto found = bucket_of_.find(v); found != bucket_of_.end()) need(found->second);
    nodes.push_back(n);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (buckets_[b].last_writer == index) nodes.push_back(marker(Op::grads_ready, b, buckets_[b].grads));
  }

  void need(std::size_t b) {
    if (!needed_[b]) nodes.push_back(marker(Op::params_needed, b, buckets_[b].params));
    needed_[b] = true;
  }

  const std::vector<Bucket>& buckets_;
  std::map<Value, std::size_t> bucket_of_;
  std::vector<bool> needed_;
};

}  // namespace

BucketPlan plan_buckets(Graph& graph, const Gradients& gradients, uint64_t bucket_bytes, uint64_t first_bytes) {
  const auto buckets = fill_buckets(graph, in_order_of_completion(graph, gradients), bucket_bytes, first_bytes);
  graph.nodes = MarkerPlacement(graph, buckets).nodes;
  BucketPlan plan;
  for (const Bucket& b : buckets) plan.bytes.push_back(b.bytes);
  return plan;
}

}  // namespace convoy::ir
