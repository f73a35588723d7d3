#include "plan_search.hpp"

#include "capture.hpp"
#include "cuda_error.hpp"
#include "own_plan.hpp"
#include "plan_memory.hpp"

#include <convoy/sdk/narrow.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

namespace convoy::cuda {

namespace {

constexpr unsigned kMostThreads = 16;   // plans are compiled by all processors; a handle each
constexpr int kRepeats = 5;             // of a timing, odd: the median counts
constexpr int kInGraph = 16;            // plans in a graph that is timed as a whole
constexpr double kShort = 150;          // us: shorter plans are timed that way
constexpr double kLong = 1000;          // us: of these one run tells enough
constexpr double kHopeless = 3;         // slower than the best by this factor at first sight: not timed any further
constexpr uint64_t kPieces = 256, kPiece = 256;  // of a result, evenly spread over it, and elements of each: what is compared
constexpr double kReferenceProducts = 3e8;    // more, and the own kernel would take too long as the reference
constexpr uint64_t kPattern = 1 << 20;  // random elements that are repeated over the inputs

struct Candidates {
  std::vector<std::shared_ptr<Plan>> plans;
  std::string reason;  // why there is none
};

void append(std::vector<std::shared_ptr<Plan>>& to, std::vector<std::shared_ptr<Plan>> more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool fused(const ConvProblem& p) { return p.bias || p.add || p.relu; }

/// Null where own kernels do not compute it.
std::shared_ptr<Plan> own_plan(const ConvProblem& p) {
  if (p.direction != Direction::weight_gradient && p.out != p.type) return nullptr;
  return fused(p) ? with_epilogue(p, direct_plan(bare(p))) : direct_plan(p);
}

/// All that may solve `p`: the libraries' fused plans, their plain plans with an own kernel behind, own kernels alone
/// where there is nothing else.
Candidates all_candidates(const std::shared_ptr<CudnnHandle>& cudnn, const std::shared_ptr<MatmulHandle>& matmul, const ConvProblem& p, int limit) {
  Candidates out;
  std::string said;
  append(out.plans, matmul_plans(matmul, p, limit, said));
  if (p.linear) {
    out.reason = said;
    return out;
  }
  append(out.plans, cudnn_plans(cudnn, p, Epilogue::bias_then_add, limit, "", out.reason));
  if (p.bias && p.add) append(out.plans, cudnn_plans(cudnn, p, Epilogue::add_then_bias, limit, "", said));
  if (fused(p))
    for (auto& plan : cudnn_plans(cudnn, bare(p), Epilogue::bias_then_add, std::max(1, limit / 2), "", said))
      out.plans.push_back(with_epilogue(p, std::move(plan)));
  if (out.plans.empty())
    if (auto own = own_plan(p)) out.plans.push_back(std::move(own));
  return out;
}

/// The plan that was called `tag` when it won; none where the library no longer proposes it.
Candidates remembered(const std::shared_ptr<CudnnHandle>& cudnn, const std::shared_ptr<MatmulHandle>& matmul, const ConvProblem& p, int limit,
                      const std::string& tag) {
  Candidates out;
  std::string said;
  const auto take = [&](std::vector<std::shared_ptr<Plan>> plans) {
    for (auto& plan : plans)
      if (out.plans.empty() && plan->tag() == tag) out.plans.push_back(std::move(plan));
  };
  if (tag.rfind("cublaslt", 0) == 0) {
    take(matmul_plans(matmul, p, limit, said));
  } else if (const auto at = tag.rfind(kEpilogueMark); at != std::string::npos && tag.rfind("direct", 0) != 0) {
    for (auto& plan : cudnn_plans(cudnn, bare(p), Epilogue::bias_then_add, limit, tag.substr(0, at), said)) take({with_epilogue(p, std::move(plan))});
  } else if (tag.rfind("direct", 0) == 0) {
    if (auto own = own_plan(p)) take({std::move(own)});
  } else {
    const auto order = tag.rfind("cudnn add-first", 0) == 0 ? Epilogue::add_then_bias : Epilogue::bias_then_add;
    take(cudnn_plans(cudnn, p, order, limit, tag, said));
  }
  return out;
}

Candidates candidates(const std::shared_ptr<CudnnHandle>& cudnn, const std::shared_ptr<MatmulHandle>& matmul, const ConvProblem& p, int limit,
                      const std::string& tag) {
  if (!tag.empty())
    if (Candidates one = remembered(cudnn, matmul, p, limit, tag); !one.plans.empty()) return one;
  return all_candidates(cudnn, matmul, p, limit);
}

/// Device memory that is freed with the object; empty where there was none.
class Scratch {
 public:
  explicit Scratch(uint64_t bytes) {
    if (cudaMalloc(&p_, std::max<uint64_t>(bytes, 16)) != cudaSuccess) {
      cudaGetLastError();
      p_ = nullptr;
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { cudaFree(p_); }
  void* get() const { return p_; }

 private:
  void* p_ = nullptr;
};

uint16_t narrow(float v, Type t) {
  uint32_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  if (t == Type::bf16) return static_cast<uint16_t>(bits >> 16);
  // Normal numbers below 1 only: the exponent is moved over, the mantissa cut.
  const uint32_t exponent = (bits >> 23 & 255) - 127 + 15;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff));
}

/// Random numbers, never zeros: with zeros products run some 13 % faster than with data.
/// Different data for each `seed`: a product of a tensor with itself would overflow fp16.
void fill_random(void* to, uint64_t bytes, Type type, unsigned seed) {
  if (bytes == 0) return;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> magnitude(0.01f, 0.3f);
  std::vector<unsigned char> pattern(kPattern * bytes_of(type));
  for (uint64_t i = 0; i < kPattern; ++i) {
    const float v = (random() & 1) != 0 ? magnitude(random) : -magnitude(random);
    const uint16_t small = type == Type::f32 ? uint16_t{0} : narrow(v, type);
    if (type == Type::f32) std::memcpy(pattern.data() + 4 * i, &v, 4);
    else std::memcpy(pattern.data() + 2 * i, &small, 2);
  }
  auto* p = static_cast<char*>(to);
  uint64_t done = std::min<uint64_t>(bytes, pattern.size());
  check(cudaMemcpy(p, pattern.data(), done, cudaMemcpyHostToDevice), "fill scratch memory");
  for (; done < bytes; done *= 2) check(cudaMemcpy(p + done, p, std::min(done, bytes - done), cudaMemcpyDeviceToDevice), "fill scratch memory");
}

class Timer {
 public:
  Timer() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
    check(cudaEventCreate(&begin_), "create an event");
    check(cudaEventCreate(&end_), "create an event");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  cudaStream_t stream() const { return stream_; }
  double once_us(const Plan& plan, const PlanArguments& a) {
    check(cudaEventRecord(begin_, stream_), "record");
    plan.enqueue(a, stream_);
    check(cudaEventRecord(end_, stream_), "record");
    check(cudaEventSynchronize(end_), "run a plan");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "time a plan");
    return 1e3 * static_cast<double>(ms);
  }
  /// Of a replayed graph of many, so that the time to enqueue does not count: as a step is run.
  double replayed_us(const Plan& plan, const PlanArguments& a) {
    begin_capture(stream_);
    try {
      for (int i = 0; i < kInGraph; ++i) plan.enqueue(a, stream_);
    } catch (...) {
      drop_capture(stream_);
      throw;
    }
    const Graph graph = end_capture(stream_);
    double best = 1e30;
    for (int i = 0; i < 3; ++i) {  // the first also uploads the graph
      check(cudaEventRecord(begin_, stream_), "record");
      check(graph.launch(stream_), "replay plans");
      check(cudaEventRecord(end_, stream_), "record");
      check(cudaEventSynchronize(end_), "run plans");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_), "time plans");
      best = std::min(best, 1e3 * static_cast<double>(ms) / kInGraph);
    }
    return best;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Scratch memory for the largest of several problems: two inputs that nothing writes, and what is written.
class Bench {
 public:
  Bench(const std::vector<std::shared_ptr<Choice>>& todo, const std::vector<Candidates>& found)
      : first_(largest(todo, [](const ConvProblem& p) { return reads(p).first; })),
        second_(largest(todo, [](const ConvProblem& p) { return reads(p).second; })),
        out_(largest(todo, [](const ConvProblem& p) { return writes(p); })),
        add_(largest(todo, [](const ConvProblem& p) { return p.add ? p.y_bytes() : 0; })),
        bias_(largest(todo, widest)), bias_f32_(largest(todo, widest)), workspace_(workspace(found)) {
    if (!usable()) return;
    const Type type = todo[0]->problem.type;
    fill_random(first_.get(), largest(todo, [](const ConvProblem& p) { return reads(p).first; }), type, 1);
    fill_random(second_.get(), largest(todo, [](const ConvProblem& p) { return reads(p).second; }), type, 2);
    fill_random(add_.get(), largest(todo, [](const ConvProblem& p) { return p.add ? p.y_bytes() : 0; }), type, 3);
    fill_bias(largest(todo, widest) / 4, type);
  }
  bool usable() const { return first_.get() && second_.get() && out_.get() && add_.get() && bias_.get() && bias_f32_.get() && workspace_.get(); }

  PlanArguments arguments(const ConvProblem& p) const {
    PlanArguments a;
    a.bias = bias_.get(), a.bias_f32 = static_cast<const float*>(bias_f32_.get()), a.add = add_.get(), a.workspace = workspace_.get();
    switch (p.direction) {
      case Direction::forward: a.x = first_.get(), a.w = second_.get(), a.y = out_.get(); break;
      case Direction::input_gradient: a.y = first_.get(), a.w = second_.get(), a.x = out_.get(); break;
      case Direction::weight_gradient: a.y = first_.get(), a.x = second_.get(), a.w = out_.get(); break;
    }
    return a;
  }

 private:
  static uint64_t widest(const ConvProblem& p) { return static_cast<uint64_t>(4 * p.K); }

  /// The same numbers in both types, or plans that read one or the other would not agree.
  void fill_bias(uint64_t count, Type type) {
    if (count == 0) return;
    fill_random(bias_.get(), count * bytes_of(type), type, 4);
    CastArgs a;
    a.x = bias_.get(), a.x_type = type, a.y = bias_f32_.get(), a.count = static_cast<int64_t>(count);
    check(cast(a, nullptr), "widen a bias");
    check(cudaStreamSynchronize(nullptr), "widen a bias");
  }
  static std::pair<uint64_t, uint64_t> reads(const ConvProblem& p) {
    switch (p.direction) {
      case Direction::forward: return {p.x_bytes(), p.w_bytes()};
      case Direction::input_gradient: return {p.y_bytes(), p.w_bytes()};
      case Direction::weight_gradient: return {p.y_bytes(), p.x_bytes()};
    }
    return {};
  }
  static uint64_t writes(const ConvProblem& p) {
    return p.direction == Direction::forward ? p.y_bytes() : p.direction == Direction::input_gradient ? p.x_bytes() : p.w_bytes();
  }
  template <class F>
  static uint64_t largest(const std::vector<std::shared_ptr<Choice>>& todo, F bytes) {
    uint64_t out = 0;
    for (const auto& c : todo) out = std::max<uint64_t>(out, bytes(c->problem));
    return out;
  }
  static uint64_t workspace(const std::vector<Candidates>& found) {
    uint64_t out = 0;
    for (const auto& c : found)
      for (const auto& plan : c.plans) out = std::max(out, plan->workspace_bytes());
    return out;
  }

  Scratch first_, second_, out_, add_, bias_, bias_f32_, workspace_;
};

/// The median of some runs, the first apart, in which libraries load their kernels; infinite where the plan fails.
double time_us(Timer& timer, const Plan& plan, const PlanArguments& a, double best) {
  try {
    timer.once_us(plan, a);
    std::vector<double> us{timer.once_us(plan, a)};
    if (us[0] < kShort) return timer.replayed_us(plan, a);
    if (us[0] > kHopeless * best || (us[0] > kLong && us[0] > best)) return us[0];
    for (int i = 1; i < kRepeats; ++i) us.push_back(timer.once_us(plan, a));
    std::nth_element(us.begin(), us.begin() + kRepeats / 2, us.end());
    return us[kRepeats / 2];
  } catch (const sdk::Error& e) {
    if (cudaPeekAtLastError() != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess) throw;  // the device is lost, not the plan
    return 1e30;
  }
}

/// Relative error, Euclidean, that two right results may have: a wrong plan is off by far more.
double tolerance(const ConvProblem& p) {
  if (p.type == Type::bf16) return 2e-2;
  if (p.type == Type::f16 || p.tf32) return 5e-3;
  return 1e-4;
}

/// Pieces from all over what a plan wrote, the last element included, over memory that held NaN before.
class Sample {
 public:
  Sample(Timer& timer, const Plan& plan, const ConvProblem& p, const PlanArguments& a) {
    const bool forward = p.direction == Direction::forward, weights = p.direction == Direction::weight_gradient;
    auto* out = static_cast<char*>(forward ? a.y : weights ? a.w : a.x);
    const uint64_t bytes = forward ? p.y_bytes() : weights ? p.w_bytes() : p.x_bytes(), each = bytes_of(p.out);
    check(cudaMemsetAsync(out, 0xff, bytes, timer.stream()), "poison a result");
    plan.enqueue(a, timer.stream());
    const uint64_t piece = kPiece * each;
    const bool all = bytes <= kPieces * piece * 2;
    std::vector<unsigned char> raw(all ? bytes : kPieces * piece);
    if (all) {
      check(cudaMemcpyAsync(raw.data(), out, bytes, cudaMemcpyDeviceToHost, timer.stream()), "read a result");
    } else {
      const uint64_t distance = (bytes - piece) / (kPieces - 1) / each * each, last = (kPieces - 1) * distance;
      check(cudaMemcpy2DAsync(raw.data(), piece, out, distance, piece, kPieces - 1, cudaMemcpyDeviceToHost, timer.stream()), "read a result");
      check(cudaMemcpyAsync(raw.data() + (kPieces - 1) * piece, out + std::max(last, bytes - piece), piece, cudaMemcpyDeviceToHost, timer.stream()),
            "read a result");
    }
    check(cudaStreamSynchronize(timer.stream()), "run a plan");
    for (uint64_t i = 0; i < raw.size(); i += each) values_.push_back(widen(raw.data() + i, p.out));
  }
  /// Infinite where either is not finite.
  double error_of(const Sample& o) const {
    double difference = 0, length = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      difference += (values_[i] - o.values_[i]) * (values_[i] - o.values_[i]);
      length += values_[i] * values_[i];
    }
    const double error = std::sqrt(difference / std::max(length, 1e-30));
    return error == error ? error : 1e30;
  }

 private:
  static double widen(const unsigned char* at, Type t) {
    if (t == Type::f32) {
      float v = 0;
      std::memcpy(&v, at, 4);
      return static_cast<double>(v);
    }
    uint16_t bits = 0;
    std::memcpy(&bits, at, 2);
    return static_cast<double>(t == Type::bf16 ? sdk::bf16_to_f32(bits) : sdk::f16_to_f32(bits));
  }
  std::vector<double> values_;
};

/// Whose results count as right: the own kernel's where it is quick enough, else those of the library's first choice.
std::shared_ptr<Plan> reference_of(const ConvProblem& p, const Candidates& found) {
  const double products = static_cast<double>(p.N * p.K * p.P * p.Q) * static_cast<double>(p.C / p.groups * p.R * p.S);
  auto own = products < kReferenceProducts && !p.linear ? own_plan(p) : nullptr;
  return own ? own : found.plans[0];
}

void choose(Choice& c, const Candidates& found, Timer& timer, const Bench& bench) {
  const PlanArguments a = bench.arguments(c.problem);
  const Sample right(timer, *reference_of(c.problem, found), c.problem, a);
  double best = 1e30;
  int wrong = 0;
  for (const auto& plan : found.plans) {
    const double us = time_us(timer, *plan, a, best);
    if (us >= best) continue;
    if (right.error_of(Sample(timer, *plan, c.problem, a)) > tolerance(c.problem)) {
      ++wrong;
      continue;
    }
    best = us;
    c.plan = plan;
    c.us = us;
  }
  c.tried = static_cast<int>(found.plans.size());
  if (wrong > 0)
    sdk::host().log(3, sdk::str("cuda"), sdk::str(c.problem.text() + ": " + std::to_string(wrong) + " of " + std::to_string(c.tried) +
                                                  " plans give wrong results and are left out"));
  if (!c.plan) c.plan = own_plan(c.problem);
  if (!c.plan) throw sdk::Error(Code::device, c.problem.text() + ": none of " + std::to_string(c.tried) + " plans runs and gives the right result");
}

std::vector<Candidates> build_all(const std::vector<std::shared_ptr<Choice>>& todo, const std::vector<std::string>& tags, const Settings& settings) {
  std::vector<Candidates> found(todo.size());
  const auto matmul = std::make_shared<MatmulHandle>();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::string failure;
  const auto work = [&] {
    try {
      check(cudaSetDevice(static_cast<int>(settings.ordinal)), "choose a device");
      const auto handle = std::make_shared<CudnnHandle>();
      for (std::size_t i = next++; i < todo.size(); i = next++)
        found[i] = candidates(handle, matmul, todo[i]->problem, settings.candidates, tags[i]);
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex);
      failure = e.what();
    }
  };
  const unsigned n = std::clamp<unsigned>(std::thread::hardware_concurrency(), 1, std::min<unsigned>(kMostThreads, static_cast<unsigned>(todo.size())));
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < n; ++i) threads.emplace_back(work);
  work();
  for (auto& t : threads) t.join();
  if (!failure.empty()) throw sdk::Error(Code::device, failure);
  return found;
}

/// What a plan's name depends on besides its problem.
std::string device_key(const Settings& settings) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, static_cast<int>(settings.ordinal)), "describe the device");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "ask for the driver's version");
  return std::string(p.name) + " cudnn " + std::to_string(cudnn().version()) + " cublaslt " + std::to_string(cublas_lt().version()) + " driver " +
         std::to_string(driver) + " candidates " + std::to_string(settings.candidates);
}

}  // namespace

std::shared_ptr<const Choice> PlanSearch::add(const ConvProblem& p) {
  auto& choice = choices_[p.text()];
  if (!choice) choice = std::make_shared<Choice>(Choice{p, nullptr, 0, 0});
  return choice;
}

void PlanSearch::run() {
  std::vector<std::shared_ptr<Choice>> todo;
  for (auto& [text, choice] : choices_)
    if (!choice->plan) todo.push_back(choice);
  if (todo.empty()) return;
  PlanMemory& memory = PlanMemory::of_process();
  const std::string device = device_key(settings_);
  memory.open(settings_.cache, device);
  std::vector<std::string> tags;
  for (const auto& choice : todo) tags.push_back(memory.find(device, choice->problem.text()));
  const auto found = build_all(todo, tags, settings_);
  for (std::size_t i = 0; i < todo.size(); ++i)
    if (found[i].plans.empty()) throw sdk::Error(Code::unsupported, todo[i]->problem.text() + ": no plan: " + found[i].reason);
  std::vector<std::shared_ptr<Choice>> unknown;
  std::vector<Candidates> theirs;
  for (std::size_t i = 0; i < todo.size(); ++i)
    if (found[i].plans.size() == 1 && found[i].plans[0]->tag() == tags[i]) {
      todo[i]->plan = found[i].plans[0];
    } else {
      unknown.push_back(todo[i]);
      theirs.push_back(found[i]);
    }
  if (unknown.empty()) return;
  const Bench bench(unknown, theirs);
  if (!bench.usable())  // no room to time anything: the heuristics' own order
    for (std::size_t i = 0; i < unknown.size(); ++i) unknown[i]->plan = theirs[i].plans[0];
  if (!bench.usable()) return;
  Timer timer;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    choose(*unknown[i], theirs[i], timer, bench);
    memory.add(device, unknown[i]->problem.text(), unknown[i]->plan->tag());
  }
  memory.save();
}

}  // namespace convoy::cuda
