// Times of the kernels at ResNet-50's sizes, batch 128. Printed, never judged: what is fast is another machine's matter.
#pragma once

namespace convoy::cuda::test {

/// A row for each kernel and size: microseconds from a cold L2 (median), GB/s of the bytes it has to move.
void print_times();

}  // namespace convoy::cuda::test
