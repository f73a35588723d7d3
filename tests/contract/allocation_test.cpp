// A step allocates nothing once it has run a few times: neither device memory nor, in core and backend, from the heap.
#include "allocation_count.hpp"
#include "devices.hpp"
#include "small_networks.hpp"
#include "watched_device.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace convoy::contract {

namespace {

constexpr uint64_t kWarmUp = 3;
constexpr uint64_t kSteps = 5;

// A vendor's library may keep books for a call (oneDNN copies a primitive's arguments into a small map each time it is
// executed, which its interface does not let one avoid). Anything larger is a primitive, a tensor or scratch memory.
constexpr uint64_t kVendorBytes = 2048;

/// Calls f(device, what it is, a run after warm-up, data) for every network, backend and execution.
template <class F>
void each_warm_run(F f) {
  for (const Network n : {Network::plain, Network::residual}) {
    const train::StepGraph graph = make_graph(n, true);
    const StepData data(graph, 0);
    for (const auto& name : device_names()) {
      const auto inner = open_device(name);
      WatchedDevice watched(inner->raw(), host());
      const exec::Device device(Owned<IDevice>(&watched), name, host());
      for (const auto& execution : executions(device)) {
        exec::ParameterStore store(device);
        DeviceRun run(device, execution, graph, store);
        run.set_initial_values();
        run.refresh();
        for (uint64_t i = 0; i < kWarmUp; ++i) run.step(data, i);
        f(watched, name + ", " + execution + ", " + name_of(n), run, data);
      }
    }
  }
}

}  // namespace

TEST_SUITE("contract: allocation") {
  TEST_CASE("a step asks for no device memory after warm-up") {
    each_warm_run([](WatchedDevice& device, const std::string& what, DeviceRun& run, const StepData& data) {
      device.refuse(true);
      for (uint64_t i = 0; i < kSteps; ++i) run.step(data, kWarmUp + i);
      device.refuse(false);
      CHECK_MESSAGE(device.refused() == 0, what);
    });
  }

  TEST_CASE("a step takes nothing from the heap after warm-up") {
    if (under_sanitizer()) {
      MESSAGE("skipped: a sanitizer allocates by itself");
      return;
    }
    {
      AllocationCount counts;
      const auto made = std::make_unique<int>(1);
      REQUIRE_MESSAGE(counts.stop().own > 0, "the counter does not count");
      CHECK(*made == 1);
    }
    each_warm_run([](WatchedDevice&, const std::string& what, DeviceRun& run, const StepData& data) {
      AllocationCount counts;
      for (uint64_t i = 0; i < kSteps; ++i) run.step(data, kWarmUp + i);
      const Allocations found = counts.stop();
      CHECK_MESSAGE(found.own == 0, what << ", first from " << found.first_own);
      CHECK_MESSAGE(found.largest_vendor <= kVendorBytes, what);
      if (found.vendor > 0)
        MESSAGE(what << ": " << found.vendor << " allocations inside vendor libraries in " << kSteps << " steps, none over "
                     << found.largest_vendor << " bytes");
    });
  }
}

}  // namespace convoy::contract
