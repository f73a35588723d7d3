#include "ir/buckets.hpp"

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

std::vector<Row> in_order_of_completion(const Graph& graph, const Gradients& gradients) {
  std::map<Value, std::size_t> writer;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (Value v : graph.nodes[i].out) writer[v] = i;
  std::vector<Row> rows;
  for (const auto& [param, grad] : gradients.pairs) rows.push_back({param, grad, writer.at(grad)});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.writer < b.writer; });
  return rows;
}

Node marker(Op op, uint32_t bucket, std::vector<Value> in) {
  const MarkerAttrs a{sizeof(MarkerAttrs), bucket};
  return {op, fmt::format("{}.{}", op == Op::grads_ready ? "grads_ready" : "params_needed", bucket), std::move(in), {},
          pack(a), Phase::marker, 0};
}

struct Bucket {
  std::vector<Value> params, grads;
  std::size_t last_writer = 0;
};

}  // namespace

BucketPlan plan_buckets(Graph& graph, const Gradients& gradients, uint64_t bucket_bytes, uint64_t first_bytes) {
  BucketPlan plan;
  std::vector<Bucket> buckets;
  for (const Row& row : in_order_of_completion(graph, gradients)) {
    const uint64_t bytes = (bytes_of(graph[row.grad]) + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t room = buckets.size() == 1 ? first_bytes : bucket_bytes;
    if (buckets.empty() || plan.bytes.back() + bytes > room) {
      buckets.emplace_back();
      plan.bytes.push_back(0);
    }
    Tensor& grad = graph[row.grad];
    grad.bucket = static_cast<int32_t>(buckets.size() - 1);
    grad.bucket_offset = plan.bytes.back();
    plan.bytes.back() += bytes;
    buckets.back().params.push_back(row.param);
    buckets.back().grads.push_back(row.grad);
    buckets.back().last_writer = row.writer;
  }
  std::vector<Node> nodes;
  std::vector<bool> needed(buckets.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[i];
    if (n.phase == Phase::update)
      for (uint32_t b = 0; b < buckets.size(); ++b) {
        const auto& params = buckets[b].params;
        const bool updates = std::any_of(n.in.begin(), n.in.end(), [&](Value v) {
          return std::find(params.begin(), params.end(), v) != params.end();
        });
        if (updates && !needed[b]) nodes.push_back(marker(Op::params_needed, b, params));
        needed[b] = needed[b] || updates;
      }
    nodes.push_back(n);
    for (uint32_t b = 0; b < buckets.size(); ++b)
      if (buckets[b].last_writer == i) nodes.push_back(marker(Op::grads_ready, b, buckets[b].grads));
  }
  graph.nodes = std::move(nodes);
  return plan;
}

}  // namespace convoy::ir
