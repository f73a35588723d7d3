// The reference device with one thing wrong, chosen by an option: what the gates are there to find.
#include "kernels.hpp"

#include <cmath>
#include <cstring>

namespace convoy::faulty {

using sdk::Kernel;
using sdk::KernelArgs;

/// The kernel that the reference has for this node.
void right(const KernelArgs& a) { sdk::find_kernel(reference::kernels(), a.node.op)->run(a); }

void scale_output(const KernelArgs& a, float factor) {
  for (int64_t i = 0; i < a.node.out[0].elements(); ++i) a.out<float>(0)[i] *= factor;
}

void doubled(const KernelArgs& a) {
  right(a);
  scale_output(a, 2);
}

void missing(const KernelArgs& a) { std::memset(a.out<float>(0), 0, static_cast<std::size_t>(a.node.out[0].elements()) * sizeof(float)); }

void not_a_number(const KernelArgs& a) {
  right(a);
  a.out<float>(0)[0] = NAN;
}

/// The parameter is what it was; the momentum too.
void no_update(const KernelArgs& a) {
  for (std::size_t i = 0; i < a.node.out.size(); ++i)
    if (a.node.out[i].present && a.out<float>(i) != a.in<float>(i == 0 ? 0 : 2))
      std::memcpy(a.out<float>(i), a.in<float>(i == 0 ? 0 : 2), static_cast<std::size_t>(a.node.out[i].elements()) * sizeof(float));
}

void ascending(const KernelArgs& a) {
  const float lr = -*a.in<float>(3);
  std::vector<Binding> io(a.io, a.io + a.node.in.size() + a.node.out.size());
  io[3].ptr = const_cast<float*>(&lr);
  sdk::find_kernel(reference::kernels(), a.node.op)->run({a.node, io.data(), a.workspace});
}

struct Fault {
  const char* name;
  Op op;
  void (*run)(const KernelArgs&);
};

constexpr Fault kFaults[] = {
    {"gradient_doubled", Op::conv2d_wgrad, doubled},  {"gradient_missing", Op::conv2d_wgrad, missing}, {"gradient_nan", Op::linear_wgrad, not_a_number},
    {"no_update", Op::sgd, no_update},                {"ascends", Op::sgd, ascending},                 {"logits_nan", Op::linear, not_a_number},
    {"pooling_doubled", Op::max_pool, doubled},
};

sdk::KernelTable table(const std::string& fault) {
  sdk::KernelTable out = reference::kernels();
  for (Kernel& k : out) {
    for (const Fault& f : kFaults)
      if (fault == f.name && k.op == f.op) k.run = f.run;
    if (fault == "unsupported" && k.op == Op::relu) k.refuse = [](const sdk::NodeView&) { return std::string("no relu here"); };
  }
  return out;
}

/// The table has to be there before the device that borrows it.
struct Table {
  sdk::KernelTable rows;
};

class Faulty final : private Table, public sdk::KernelDevice {
 public:
  static constexpr const char* schema = "fault : string = \"none\"";
  explicit Faulty(const Options& o) : Table{table(sdk::get(o, "fault", "none"))}, KernelDevice(rows, static_cast<uint32_t>(sdk::get(o, "ordinal", 0))) {}
};

}  // namespace convoy::faulty

CONVOY_PLUGIN(device, convoy::faulty::Faulty, FAULTY_NAME)
