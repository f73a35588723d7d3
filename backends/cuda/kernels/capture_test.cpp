// What holds for all launchers, tried on those of several launches: they can be captured, and give the same bits always.
#include "kernels_test.hpp"

namespace convoy::cuda::test {

TEST_SUITE_BEGIN("capture");

TEST_CASE("captured launches give the same bits as direct ones, in every replay") {
  const Type t = Type::bf16;
  const Layout l{5000, 72};
  const auto x = Tensor::random(t, l, 1), dy = Tensor::random(t, l, 2), gamma = floats(l.c, 3);
  const Memory scratch(batch_norm_grad_scratch_bytes(l.rows, l.c));
  Tensor y(t, l), dx(t, l);
  auto mean = blank_floats(l.c), inv_std = blank_floats(l.c), dgamma = blank_floats(l.c),
       dbeta = blank_floats(l.c);
  BatchNormStatisticsArgs s;
  s.x = x.in(), s.type = t, s.rows = l.rows, s.c = l.c, s.scratch = scratch.get();
  s.saved_mean = mean.as<float>(), s.saved_inv_std = inv_std.as<float>();
  BatchNormGradArgs g;
  g.dy = dy.in(), g.x = x.in(), g.y = y.in(), g.dx = dx.out(), g.type = t, g.rows = l.rows, g.c = l.c;
  g.gamma = gamma.as<float>(), g.saved_mean = s.saved_mean, g.saved_inv_std = s.saved_inv_std;
  g.dgamma = dgamma.as<float>(), g.dbeta = dbeta.as<float>(), g.scratch = scratch.get();
  const auto enqueue = [&](cudaStream_t stream) {
    check(fill({dx.as<void>(), t, l.rows * l.c, 0}, stream));
    check(relu({x.in(), y.out(), t, l.rows, l.c}, stream));
    check(batch_norm_statistics(s, stream));
    check(batch_norm_grad(g, stream));
  };
  const auto results = [&] {
    for (Tensor* each : {&mean, &inv_std, &dgamma, &dbeta, &dx}) each->download();
    std::vector<std::vector<double>> all{mean.host, inv_std.host, dgamma.host, dbeta.host, dx.host};
    return all;
  };
  enqueue(nullptr);
  check(cudaDeviceSynchronize());
  const auto direct = results();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  enqueue(stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  for (int replay = 0; replay < 3; ++replay) {
    check(fill({dx.as<void>(), t, l.rows * l.c, 7}, nullptr));
    check(fill({dbeta.as<void>(), Type::f32, l.c, 7}, nullptr));
    check(cudaDeviceSynchronize());
    check(cudaGraphLaunch(executable, stream));
    check(cudaStreamSynchronize(stream));
    CHECK(results() == direct);
  }
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
}

TEST_SUITE_END();

}  // namespace convoy::cuda::test
