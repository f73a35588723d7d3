#include "probe.hpp"

#include "cuda_error.hpp"
#include "vendor.hpp"

#include <cstdlib>

namespace convoy::cuda {

namespace {

constexpr int kOldestCapability = 80;  // Ampere: bf16, tf32
constexpr int kScore = 100;            // before the processor, where "auto" chooses

void refuse(ProbeResult& r, const std::string& reason) {
  r.score = 0;
  sdk::copy_text(r.reason, reason);
}

std::string version_text(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

std::string why_no_device(cudaError_t e) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (driver == 0) return "no NVIDIA driver on this machine (libcuda.so.1 is not there)";
  if (e == cudaErrorInsufficientDriver)
    return "the driver knows CUDA " + version_text(driver) + ", this build needs " + version_text(CUDART_VERSION / 1000 * 1000) + " or newer";
  if (visible != nullptr)
    return std::string("no usable device with CUDA_VISIBLE_DEVICES = \"") + visible + "\" (" + cudaGetErrorString(e) + ")";
  return error_text(e);
}

}  // namespace

void probe(ProbeResult& r) {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (e != cudaSuccess || count == 0) return refuse(r, why_no_device(e == cudaSuccess ? cudaErrorNoDevice : e));
  int major = 0, minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  if (10 * major + minor < kOldestCapability)
    return refuse(r, "device 0 has compute capability " + std::to_string(major) + "." + std::to_string(minor) + "; 8.0 or newer is needed");
  if (const std::string missing = missing_libraries(); !missing.empty()) return refuse(r, missing);
  r.score = kScore;
  r.n_devices = static_cast<uint32_t>(count);
  cudaDeviceProp properties{};
  const bool named = cudaGetDeviceProperties(&properties, 0) == cudaSuccess;
  sdk::copy_text(r.reason, std::string(named ? properties.name : "device 0") + ", cuDNN " + std::to_string(cudnn().version()));
}

}  // namespace convoy::cuda
