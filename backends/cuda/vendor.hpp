// cuDNN and cuBLASLt, opened at run time: the functions that this backend calls, by name.
// Opened late so that the plugin loads, and says what is missing, on a machine without them.
#pragma once

#include <cublasLt.h>
#include <cudnn_graph.h>

#include <string>

namespace convoy::cuda {

/// The functions of cuDNN's graph API. One per process; stays open until it ends.
struct Cudnn {
  decltype(&cudnnGetVersion) version;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnGetLastErrorString) last_error;
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) descriptor_new;
  decltype(&cudnnBackendDestroyDescriptor) descriptor_free;
  decltype(&cudnnBackendSetAttribute) set;
  decltype(&cudnnBackendGetAttribute) get;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
  std::string path;  // of the library that answered
};

struct CublasLt {
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescCreate) desc_new;
  decltype(&cublasLtMatmulDescDestroy) desc_free;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_new;
  decltype(&cublasLtMatrixLayoutDestroy) layout_free;
  decltype(&cublasLtMatmulPreferenceCreate) preference_new;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_free;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_get;
  decltype(&cublasLtGetStatusString) status_string;
  std::string path;
};

/// Opens the library at the first call: by the system's search first, then from `folder`s that toolkits use.
/// Errors: not_found, with what the loader said; version, where it is older than this backend needs.
const Cudnn& cudnn();
const CublasLt& cublas_lt();

/// "" where both libraries can be opened; else why not.
std::string missing_libraries();

}  // namespace convoy::cuda
