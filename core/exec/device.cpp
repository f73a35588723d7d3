#include "exec/device.hpp"

#include "error.hpp"

#include <fmt/format.h>

namespace convoy::exec {

namespace {

bool offers(const DeviceInfo& info, Mem m) { return (info.mem_kinds & static_cast<uint32_t>(m)) != 0; }

}  // namespace

Device::Device(Owned<IDevice> device, std::string name, plugin::Host& host)
    : device_(std::move(device)), name_(std::move(name)), host_(host) {
  info_.struct_size = sizeof info_;
  check(device_->info(&info_), "describe the device");
  kernels_ = static_cast<IKernels*>(device_->query(IKernels::id));
  compiler_ = static_cast<ICompiler*>(device_->query(ICompiler::id));
}

Mem Device::compute_memory() const { return offers(info_, Mem::device) ? Mem::device : Mem::host; }

Mem Device::staging_memory() const { return offers(info_, Mem::pinned) ? Mem::pinned : Mem::host; }

DeviceBuffer::DeviceBuffer(const Device& device, uint64_t bytes, Mem mem, const std::string& what, uint64_t align) {
  const Code c = device.raw().alloc(bytes, align, mem, &buffer_);
  device.check(c, fmt::format("allocate {:.1f} MiB for {}", static_cast<double>(bytes) / (1 << 20), what));
  device_ = &device;
}

}  // namespace convoy::exec
