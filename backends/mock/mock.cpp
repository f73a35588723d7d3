// The device `mock`: an asynchronous fake that finds missing waits and wrong addresses without an accelerator.
// Its results are the reference's.
#include "device.hpp"

CONVOY_PLUGIN(device, convoy::mock::MockDevice, "mock")
