#include "train/device_limits.hpp"

#include "exec/program.hpp"
#include "ir/op_rule.hpp"
#include "record/statistics.hpp"

#include <algorithm>

namespace convoy::train {

namespace {

constexpr int64_t kSides[] = {512, 1024, 2048, 4096, 8192};  // of the square matrices
constexpr double kLongEnough_s = 0.02;  // a product of this length hides launches; larger ones gain nothing
constexpr int kTrials = 5, kTogether = 3;
constexpr uint64_t kCopyBytes = uint64_t{256} << 20;  // far beyond any cache, small against any memory
constexpr uint32_t kTimeoutMs = 100'000;

ir::Graph product_graph(int64_t side, DType t) {
  ir::Graph g;
  const auto matrix = [&](const char* name, Role role) {
    ir::Tensor x;
    x.name = name;
    x.dtype = t;
    x.dims = {side, side};
    x.role = role;
    return g.add(std::move(x));
  };
  const Value x = matrix("x", Role::input), w = matrix("w", Role::param);
  const Value y = ir::append_node(g, Op::linear, {x, w}, {}, "product", Phase::forward)[0];
  g[y].role = Role::output;
  g[y].name = "y";
  return g;
}

/// Seconds of one of several runs that are enqueued and waited for together; the best of a few times, after a first one.
template <class Enqueue>
double best_s(const exec::Device& device, Stream s, Enqueue enqueue) {
  exec::DeviceEvent done(device);
  double best = 1e30;
  for (int trial = 0; trial <= kTrials; ++trial) {
    record::Stopwatch watch;
    for (int i = 0; i < kTogether; ++i) enqueue();
    done.record(s);
    done.sync(kTimeoutMs);
    if (trial > 0) best = std::min(best, watch.elapsed_s() / kTogether);
  }
  return best;
}

void zero(const exec::Device& device, const Buffer& b, Stream s) { device.check(device.raw().fill(s, b, 0, b.bytes, 0), "fill memory"); }

double product_flop_per_s(const exec::Device& device, DType precision) {
  double best = 0;
  for (const int64_t side : kSides) {
    const ir::Graph g = product_graph(side, precision);
    exec::ParameterStore store(device);
    exec::Program program(device, g, store, {});
    exec::DeviceStream stream(device);
    const Value x = 0, w = 1;
    // Numbers that are no zeros, about 0.01 in f32 and bf16: on zeros some devices run faster.
    for (const Value v : {x, w})
      device.check(device.raw().fill(stream.get(), program.buffer(v), 0, program.bytes(v), 0x3c), "fill memory");
    program.refresh(stream.get());
    const auto run = [&] { program.run(stream.get(), 0); };
    const double s = best_s(device, stream.get(), run);
    best = std::max(best, 2.0 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side) / s);
    if (s > kLongEnough_s) break;
  }
  return best;
}

double copy_bytes_per_s(const exec::Device& device) {
  exec::DeviceBuffer from(device, kCopyBytes, device.compute_memory(), "a copy"), to(device, kCopyBytes, device.compute_memory(), "a copy");
  exec::DeviceStream stream(device);
  zero(device, from.get(), stream.get());
  const auto copy = [&] { device.check(device.raw().copy(stream.get(), to.get(), 0, from.get(), 0, kCopyBytes), "copy"); };
  return 2.0 * static_cast<double>(kCopyBytes) / best_s(device, stream.get(), copy);
}

}  // namespace

DeviceLimits measure_limits(const exec::Device& device, DType precision) { return {product_flop_per_s(device, precision), copy_bytes_per_s(device)}; }

double roofline_s(const std::vector<ir::Layer>& layers, const DeviceLimits& limits, double element_bytes) {
  double total = 0;
  for (const auto& l : layers) {
    if (l.macs == 0) continue;  // biases, normalisation, activations and joins are what a device fuses into these
    const double bytes = static_cast<double>(l.input_bytes + l.activation_bytes + l.parameter_bytes) / sizeof(float) * element_bytes;
    total += std::max(2.0 * static_cast<double>(l.macs) / limits.flop_per_s, bytes / limits.bytes_per_s);
  }
  return total;
}

}  // namespace convoy::train
