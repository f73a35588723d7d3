// The dynamic loss scale of fp16, kept on the device so that a recorded step needs no host: gradients of 16 bits are
// computed scaled, unscaled in f32, and a step whose gradients overflowed updates nothing and halves the scale.
// Micikevicius et al. 2018, section 3.2, with the period that PyTorch's GradScaler uses.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace convoy::cuda {

constexpr float kFirstLossScale = 1024;  // PyTorch begins at 65536, which overflows in the first steps of VGG and AlexNet
constexpr int32_t kGrowAfter = 2000;  // steps without overflow

/// In device memory. `skip` stands first: update kernels take the state's address for that of the flag.
struct LossScaleState {
  int32_t skip;
  int32_t good_steps;
  float scale;
  int32_t pad;
};

/// What the state begins as.
std::vector<unsigned char> initial_loss_scale();

struct ScaledVector {
  float* data;
  int64_t count;
};

/// factor = *scale * state->scale; clears state->skip.
cudaError_t loss_scale_begin(const float* scale, LossScaleState* state, float* factor, cudaStream_t s);
/// Divides each vector by state->scale and sets state->skip where an element is not finite. `vectors`: host memory, read
/// during the call.
cudaError_t unscale(const ScaledVector* vectors, int n, LossScaleState* state, cudaStream_t s);
/// Sets state->skip where an element is not finite.
cudaError_t check_finite(const ScaledVector* vectors, int n, LossScaleState* state, cudaStream_t s);
/// Halves the scale after a skipped step, doubles it after kGrowAfter good ones.
cudaError_t loss_scale_end(LossScaleState* state, cudaStream_t s);

}  // namespace convoy::cuda
