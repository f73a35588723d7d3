#include "vendor.hpp"

#include <convoy/sdk/plugin.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace convoy::cuda {

namespace {

// The graph API's form of 9.0 is enough for what is called here; older ones lack Hopper's fused engines.
constexpr std::size_t kOldestCudnn = 90000;

/// Where the loader looks by itself, then the toolkit's usual places.
std::vector<std::string> candidates(const std::string& file) {
  std::vector<std::string> out{file};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable)) out.push_back(std::string(home) + "/lib64/" + file);
  out.push_back("/usr/local/cuda/lib64/" + file);
  return out;
}

class Library {
 public:
  explicit Library(const std::string& file) {
    std::string said;
    for (const auto& path : candidates(file)) {
      handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      if (said.empty()) said = dlerror();
    }
    throw sdk::Error(Code::not_found, file + " cannot be opened: " + said);
  }

  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle_, name));
    if (function == nullptr) throw sdk::Error(Code::version, std::string("the library has no function ") + name);
    Dl_info info{};
    if (path.empty() && dladdr(reinterpret_cast<void*>(function), &info) != 0) path = info.dli_fname;
  }

  std::string path;

 private:
  void* handle_ = nullptr;  // stays open: its code runs until the process ends
};

Cudnn open_cudnn() {
  Library lib("libcudnn.so.9");
  Cudnn c{};
  lib.find(c.version, "cudnnGetVersion");
  if (c.version() < kOldestCudnn)
    throw sdk::Error(Code::version, "cuDNN " + std::to_string(c.version()) + " is older than " + std::to_string(kOldestCudnn));
  lib.find(c.error_string, "cudnnGetErrorString");
  lib.find(c.last_error, "cudnnGetLastErrorString");
  lib.find(c.create, "cudnnCreate");
  lib.find(c.destroy, "cudnnDestroy");
  lib.find(c.set_stream, "cudnnSetStream");
  lib.find(c.descriptor_new, "cudnnBackendCreateDescriptor");
  lib.find(c.descriptor_free, "cudnnBackendDestroyDescriptor");
  lib.find(c.set, "cudnnBackendSetAttribute");
  lib.find(c.get, "cudnnBackendGetAttribute");
  lib.find(c.finalize, "cudnnBackendFinalize");
  lib.find(c.execute, "cudnnBackendExecute");
  c.path = lib.path;
  return c;
}

CublasLt open_cublas_lt() {
  Library lib("libcublasLt.so.13");
  CublasLt c{};
  lib.find(c.version, "cublasLtGetVersion");
  lib.find(c.create, "cublasLtCreate");
  lib.find(c.destroy, "cublasLtDestroy");
  lib.find(c.matmul, "cublasLtMatmul");
  lib.find(c.desc_new, "cublasLtMatmulDescCreate");
  lib.find(c.desc_free, "cublasLtMatmulDescDestroy");
  lib.find(c.desc_set, "cublasLtMatmulDescSetAttribute");
  lib.find(c.layout_new, "cublasLtMatrixLayoutCreate");
  lib.find(c.layout_free, "cublasLtMatrixLayoutDestroy");
  lib.find(c.preference_new, "cublasLtMatmulPreferenceCreate");
  lib.find(c.preference_free, "cublasLtMatmulPreferenceDestroy");
  lib.find(c.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  lib.find(c.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  lib.find(c.algo_get, "cublasLtMatmulAlgoConfigGetAttribute");
  lib.find(c.status_string, "cublasLtGetStatusString");
  c.path = lib.path;
  return c;
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn library = open_cudnn();
  return library;
}

const CublasLt& cublas_lt() {
  static const CublasLt library = open_cublas_lt();
  return library;
}

std::string missing_libraries() {
  try {
    cudnn();
    cublas_lt();
    return "";
  } catch (const sdk::Error& e) {
    return e.what();
  }
}

}  // namespace convoy::cuda
