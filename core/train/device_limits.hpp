// How fast a device is where nothing is in its way: a large matrix product and a large copy, measured on the device itself.
// Not a data sheet, and not a prediction for a network.
#pragma once

#include "exec/device.hpp"
#include "ir/layer_table.hpp"

#include <vector>

namespace convoy::train {

struct DeviceLimits {
  double flop_per_s = 0;
  double bytes_per_s = 0;  // read and written, both counted
};

/// Takes a second or so. Errors: those of the device, which may not multiply matrices of this type.
DeviceLimits measure_limits(const exec::Device& device, DType precision);

/// Seconds that the layers take if each is bound by arithmetic or by memory, reads its inputs and parameters once and
/// writes its output once, and views are free. `element_bytes` of an activation or parameter as computed with.
double roofline_s(const std::vector<ir::Layer>& layers, const DeviceLimits& limits, double element_bytes);

}  // namespace convoy::train
