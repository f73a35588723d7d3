// The program that tests the kernels: doctest's options, and --time for a table of times at ResNet-50's sizes.
// Where there is no device it says so and exits with 77, which ctest shows as skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include "kernels_test.hpp"
#include "kernels_time.hpp"

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  int devices = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&devices); e != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device (%s)\n", cudaGetErrorString(e));
    return 77;
  }
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--time") == 0) {
      convoy::cuda::test::print_times();
      return 0;
    }
  return doctest::Context(argc, argv).run();
}
