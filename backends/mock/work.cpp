#include "work.hpp"

#include "capture.hpp"

#include <convoy/sdk/philox.hpp>
#include <convoy/sdk/vector_ops.hpp>

#include <array>
#include <cstring>
#include <thread>

namespace convoy::mock {

namespace {

constexpr std::size_t kInlineTensors = 64;  // a node with more of them allocates on each launch; no network has one

uint64_t bytes_of(const sdk::TensorView& t) { return static_cast<uint64_t>(t.elements()) * sdk::dtype_bytes(t.dtype); }

}  // namespace

uint32_t Worker::draw(uint64_t stream, uint64_t position, uint32_t what) const {
  return sdk::philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                          static_cast<uint32_t>(stream), what},
                         options_.seed)[0];
}

void Worker::launch(const Work& w) {
  const sdk::NodeView& node = w.kernel->kernel.node();
  std::array<Binding, kInlineTensors> few;
  Bindings many;
  Binding* io = few.data();
  if (w.io->size() > few.size()) {
    many.resize(w.io->size());
    io = many.data();
  }
  for (std::size_t i = 0; i < w.io->size(); ++i) {
    const sdk::TensorView& t = i < node.in.size() ? node.in[i] : node.out[i - node.in.size()];
    io[i] = (*w.io)[i];
    io[i].ptr = t.present ? memory_.for_kernel(io[i].ptr, bytes_of(t)) : nullptr;
  }
  const uint64_t scratch = w.kernel->kernel.workspace();
  w.kernel->kernel.run(io, scratch > 0 ? memory_.for_kernel(w.workspace, scratch) : nullptr);
}

void Worker::run(const Work& w, uint64_t stream, uint64_t position) {
  if (w.what == Work::What::replay) return w.graph->run(*this, stream, position);
  if (const uint64_t most = options_.max_delay_us; most > 0)
    std::this_thread::sleep_for(std::chrono::microseconds(draw(stream, position, 0) % (most + 1)));
  if (++works_ == options_.fail_at)
    throw sdk::Error(Code::device, "work " + std::to_string(options_.fail_at) + " fails as asked for (option fail_at)");
  const uint64_t bytes = w.count * sdk::dtype_bytes(w.type);
  switch (w.what) {
    case Work::What::kernel: return launch(w);
    case Work::What::copy:
      if (w.count > 0) std::memmove(memory_.for_copy(w.dst, w.count), memory_.for_copy(w.src, w.count), w.count);
      return;
    case Work::What::fill:
      if (w.count > 0) std::memset(memory_.for_copy(w.dst, w.count), static_cast<int>(w.byte), w.count);
      return;
    case Work::What::add:
      return sdk::vector_add(memory_.for_copy(w.dst, bytes), memory_.for_copy(w.src, bytes), w.count, w.type);
    case Work::What::scale: return sdk::vector_scale(memory_.for_copy(w.dst, bytes), w.count, w.type, w.factor);
    case Work::What::cast:
      return sdk::vector_cast(memory_.for_copy(w.dst, bytes), w.type,
                              memory_.for_copy(w.src, w.count * sdk::dtype_bytes(w.from)), w.from, w.count);
    default: return;
  }
}

}  // namespace convoy::mock
