// A device in host memory for tests of the core's side: its kernels and its compiler do nothing, fail where the test
// says so, and count what they are asked. Computes nothing.
#pragma once

#include "exec/device.hpp"
#include "record/log.hpp"

#include <convoy/sdk/host_device.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace convoy::testing {

/// What the device does, and what it was asked. The test's own: outlives the device.
struct Script {
  bool has_kernels = false;
  bool has_compiler = false;
  uint32_t failing_node = UINT32_MAX;  // prepare() fails there
  Code compile_gives = Code::unsupported;
  bool check_refuses = false;  // the first node

  std::set<uint64_t> prepared;  // handles that were not released
  uint64_t next_handle = 100;
  int checks = 0;
  int compiles = 0;
};

class FakeDevice final : public sdk::HostDevice, public IKernels, public ICompiler {
 public:
  FakeDevice(Script& script, IHost& host) : script_(script), host_(host) {}

  void* query(const char* id) noexcept override {
    if (std::strcmp(id, IKernels::id) == 0) return script_.has_kernels ? static_cast<IKernels*>(this) : nullptr;
    if (std::strcmp(id, ICompiler::id) == 0) return script_.has_compiler ? static_cast<ICompiler*>(this) : nullptr;
    return HostDevice::query(id);
  }
  void destroy() noexcept override { delete this; }

  Code supports(const GraphView&, uint32_t, Support* out) noexcept override {
    out->code = Code::ok;
    return Code::ok;
  }
  Code prepare(const GraphView&, uint32_t node, uint64_t* workspace, uint64_t* kernel) noexcept override {
    if (node == script_.failing_node) return host_.fail(Code::device, sdk::str("prepare"), sdk::str("no room for this one"));
    *workspace = 0;
    *kernel = script_.next_handle++;
    script_.prepared.insert(*kernel);
    return Code::ok;
  }
  Code launch(uint64_t, Stream, Span<const Binding>, void*) noexcept override { return Code::ok; }
  void release(uint64_t kernel) noexcept override { script_.prepared.erase(kernel); }

  Code check(const GraphView& g, INodeReport& out) noexcept override {
    ++script_.checks;
    for (uint32_t n = 0; n < g.nodes.n; ++n) {
      const bool refused = script_.check_refuses && n == 0;
      out.note(n, refused ? Via::refused : Via::kernel, n, sdk::str(refused ? "not that one" : "own"));
    }
    return Code::ok;
  }
  Code compile(const CompileRequest&, IExecutable**) noexcept override {
    ++script_.compiles;
    return host_.fail(script_.compile_gives, sdk::str("compile"), sdk::str("this graph is too much"));
  }

 private:
  Script& script_;
  IHost& host_;
};

/// Such a device as the core holds it.
struct HeldDevice {
  explicit HeldDevice(Script& script) : device(Owned<IDevice>(new FakeDevice(script, host)), "fake", host) {}

  record::SilentLog log;
  plugin::Host host{log};
  exec::Device device;
};

}  // namespace convoy::testing
