// The device `reference`: host memory and plain kernels. The oracle, and the example for other backends.
#include "kernels.hpp"

namespace convoy::reference {

class ReferenceDevice final : public sdk::KernelDevice {
 public:
  static constexpr const char* schema = "";
  explicit ReferenceDevice(const Options& o)
      : KernelDevice(kernels(), static_cast<uint32_t>(sdk::get(o, "ordinal", 0))) {}
};

}  // namespace convoy::reference

CONVOY_PLUGIN(device, convoy::reference::ReferenceDevice, "reference")
