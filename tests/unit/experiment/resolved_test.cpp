#include "experiment/experiment.hpp"
#include "experiment/toml_reader.hpp"
#include "refusal.hpp"
#include "schemas.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

namespace {

using namespace convoy;
using namespace convoy::experiment;
using convoy::testing::contains;

Experiment made(const std::string& text, const std::string& name = "exp") {
  testing::Schemas schemas;
  return make_experiment(parse_toml(text, "f.toml"), name, schemas);
}

/// Experiments that a file could give, with values where writing and reading could differ.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Experiment experiment() {
    Experiment e;
    run(e.run);
    e.model.use = "every";
    e.model.classes = below(1 << 24);
    e.model.image = below(1 << 14);
    e.model.weights = text();
    e.model.options = {{"flag", coin()},        {"whole", integer()},       {"part.ratio", real()},          {"text", text()},
                       {"part.wholes", wholes()}, {"ratios", reals()}, {"part.deep.texts", texts()}};
    device(e.device);
    if (coin()) e.comm = comm();
    if (coin()) {
      e.sync.emplace();
      e.sync->use = "ring_allreduce";
      e.sync->options = {{"bucket_mib", 0.1 + 1000 * unit()}, {"overlap", coin()}};
    }
    data(e.data);
    e.optimizer = {"sgd", size(), unit(), 0, size(), false};
    if (coin()) e.optimizer.dampening = unit();
    else e.optimizer.nesterov = e.optimizer.momentum > 0 && coin();
    schedule(e.schedule);
    e.checkpoint = {below(10), below(10)};
    report(e.report);
    if (coin()) e.benchmark = BenchmarkOptions{coin() ? "train" : "inference", below(100), 1 + below(100), 1 + below(9), size()};
    return e;
  }

 private:
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  bool coin() { return below(2) == 1; }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  int64_t integer() {
    const int64_t extremes[] = {0, -1, INT64_MIN, INT64_MAX};
    return coin() ? extremes[below(4)] : std::bit_cast<int64_t>(random_());
  }

  /// Any float but nan: by its bits, whole, or at an end.
  double real() {
    const double special[] = {0.0, -0.0, 1.0, 1e20, -1e-7, 5e-324, 1.7976931348623157e308, HUGE_VAL, -HUGE_VAL};
    if (below(3) == 0) return special[below(9)];
    const double v = std::bit_cast<double>(random_());
    return std::isnan(v) ? 0.5 : v;
  }

  /// A finite float of at least 0.
  double size() {
    const double v = std::abs(real());
    return std::isinf(v) ? 3.0 : v;
  }

  std::string text(bool plain = false) {
    static const std::vector<std::string> kPieces{"a", "Z", "0", "\"", "'", "\"\"\"", "'''", "\\", "\\u0041", "#", "=", "[", "]", "{", ".", ",", " ", "\xC3\xA9",
                                                  "\xC2\xA7", "\xE2\x82\xAC", "\xF0\x9F\x9A\x9A", "\xEF\xBB\xBF", "/", "\n", "\r", "\t", std::string(1, '\0'), "\x1b",
                                                  "\x7f", "\xC2\x9B"};
    const int64_t usable = plain ? 23 : static_cast<int64_t>(kPieces.size());  // the rest are control characters
    std::string out;
    for (int64_t n = below(12); n > 0; --n) out += kPieces[static_cast<std::size_t>(below(usable))];
    return out;
  }

  template <class Make>
  auto list(Make make) {
    std::vector<decltype(make())> out;
    for (int64_t n = below(4); n > 0; --n) out.push_back(make());
    return out;
  }
  std::vector<int64_t> wholes() { return list([&] { return integer(); }); }
  std::vector<double> reals() { return list([&] { return real(); }); }
  std::vector<std::string> texts() { return list([&] { return text(); }); }

  void run(RunOptions& o) {
    o.name = "n" + text(true);
    o.mode = coin() ? Mode::train : Mode::evaluate;
    if (o.mode == Mode::train) (coin() ? o.epochs : o.steps) = 1 + below(INT64_MAX);
    o.seed = below(INT64_MAX);
    o.label_smoothing = 0.9 * unit();
    o.predictions = coin();
    o.log_every = below(100);
    o.evaluate_every_epochs = below(5);
  }

  void device(DeviceChoice& c) {
    c.use = coin() ? "cpu" : "other";
    if (c.use == "cpu") c.options = {{"profile", coin()}};
    if (coin()) c.ordinals = {below(8)};
    c.precision = coin() ? "fp32" : "bf16";
    c.execution = coin() ? "" : "compiled";
    c.deterministic = coin();
    c.threads = below(4096);
  }

  CommChoice comm() {
    CommChoice c;
    c.use = "threads";
    c.options = {{"spin", coin()}};
    const Link links[] = {{}, {"10Gbit", "", 1e10, 0}, {"", "5ms", 0, 5 * 1e-3}, {"1.5kbit", "0s", 1.5 * 1e3, 0}};
    if (coin()) c.link = links[below(4)];
    return c;
  }

  void data(DataChoice& c) {
    c.use = coin() ? "shapes" : "idx";
    c.options = c.use == "idx" ? OptionList{{"path", text()}} : OptionList{{"train", below(INT64_MAX)}};
    c.batch = 1 + below(1 << 20);
    c.train_limit = below(100);
    c.eval_limit = below(100);
    c.residency = coin() ? "auto" : "real";
    c.remainder = coin() ? "drop" : "roll_over";
    for (int64_t n = below(5); n > 0; --n) {
      c.mean.push_back(-1 + 2 * unit());
      c.stdev.push_back(0.01 + unit());
    }
    c.shuffle = coin();
    c.augment = coin();
    c.workers = below(9);
  }

  void schedule(ScheduleChoice& o) {
    if (coin()) o.warmup_epochs = size();
    else o.warmup_steps = below(1000);
    o.warmup_start = unit();
    const char* const kUses[] = {"constant", "step", "cosine"};
    o.use = kUses[below(3)];
    if (o.use == "cosine") o.final_lr = size();
    if (o.use != "step") return;
    o.gamma = size();
    if (coin()) o.every_epochs = 0.5 + unit();
    else o.milestones = {size(), size()};
  }

  void report(ReportOptions& o) {
    o.currency = text();
    if (coin()) o.price_per_minute[""] = size();
    else
      for (int64_t n = below(4); n > 0; --n) o.price_per_minute["d" + text()] = size();
  }

  std::mt19937_64 random_;
};

TEST_SUITE("resolved experiment") {
  TEST_CASE("what is written reads back as the same experiment") {
    Generator generator(1);
    for (int i = 0; i < 500; ++i) {
      const Experiment e = generator.experiment();
      const std::string text = to_toml(e);
      CAPTURE(text);
      const Experiment again = made(text, "another");
      REQUIRE(again == e);
      REQUIRE(to_toml(again) == text);
    }
  }

  TEST_CASE("equal means equal: any change is seen") {
    const Experiment e = made("[run]\nepochs = 1\n[model]\nuse = 'every'\n[comm]\nuse = 'threads'");
    const auto differs = [&](auto change) {
      Experiment other = e;
      change(other);
      return !(other == e) && to_toml(other) != to_toml(e);
    };
    CHECK(differs([](Experiment& o) { o.run.seed = 2; }));
    CHECK(differs([](Experiment& o) { o.model.options[2].value = 0.25; }));
    CHECK(differs([](Experiment& o) { o.model.image = 8; }));
    CHECK(differs([](Experiment& o) { o.device.threads = 1; }));
    CHECK(differs([](Experiment& o) { o.comm->link = Link{"1bit", "", 1, 0}; }));
    CHECK(differs([](Experiment& o) { o.comm.reset(); }));
    CHECK(differs([](Experiment& o) { o.data.augment = false; }));
    CHECK(differs([](Experiment& o) { o.report.price_per_minute["x"] = 1; }));
    CHECK(differs([](Experiment& o) { o.benchmark.emplace(); }));
    Experiment moved = e;
    moved.model.at = {"elsewhere", 3, 4};
    CHECK(moved == e);
  }

  TEST_CASE("every default stands in it, floats as floats") {
    const std::string text = to_toml(made("[run]\nepochs = 1\n[model]\nuse = 'resnet'"));
    for (const char* line : {"name = \"exp\"", "mode = \"train\"", "epochs = 1", "seed = 1", "depth = 50", "version = \"v1.5\"", "use = \"cpu\"", "profile = false",
                             "use = \"shapes\"", "train = 1000", "batch = 32", "lr = 0.1", "momentum = 0.9", "weight_decay = 0.0", "label_smoothing = 0.0",
                             "warmup_epochs = 0.0", "every_epochs = 1", "keep_last = 3", "currency = \"USD\""})
      CHECK(contains("\n" + text, "\n" + std::string(line) + "\n"));
    CHECK_FALSE(contains(text, "steps = 0\n[")); // what was not chosen is not written
    CHECK_FALSE(contains(text, "\nsteps ="));
  }

  TEST_CASE("paths stay as they were written") {
    const Experiment e = made("[run]\nepochs = 1\n[model]\nuse = 'resnet'\nweights = '../w.safetensors'\n[data]\nuse = 'idx'\npath = './data//mnist'");
    CHECK(contains(to_toml(e), "weights = \"../w.safetensors\"\n"));
    CHECK(contains(to_toml(e), "path = \"./data//mnist\"\n"));
  }
}

}  // namespace
