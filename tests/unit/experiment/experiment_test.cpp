#include "experiment/experiment.hpp"

#include "experiment/toml_reader.hpp"
#include "refusal.hpp"
#include "schemas.hpp"

#include <doctest/doctest.h>

namespace {

using namespace convoy;
using namespace convoy::experiment;
using convoy::testing::contains;
using convoy::testing::refusal;

constexpr const char* kLeast = "[run]\nepochs = 2\n[model]\nuse = 'resnet'\n";

Experiment made(const std::string& text) {
  testing::Schemas schemas;
  return make_experiment(parse_toml(text, "exp.toml"), "exp", schemas);
}

std::string refused(const std::string& text, ErrorKind kind = ErrorKind::usage) {
  return refusal([&] { return made(text); }, kind);
}

/// Refused when `lines` stand behind the least that is needed: in line 5 and on.
std::string refused_with(const std::string& lines) { return refused(kLeast + lines); }

/// As refused_with, for keys of [run] in line 2 and on.
std::string refused_run(const std::string& lines) { return refused("[run]\n" + lines + "\n[model]\nuse = 'resnet'\n"); }

TEST_SUITE("experiment") {
  TEST_CASE("the least that can be said gives every default") {
    const Experiment e = made(kLeast);
    RunOptions run;
    run.name = "exp";
    run.epochs = 2;
    CHECK(e.run == run);
    CHECK(e.model.use == "resnet");
    CHECK(to_string(e.model.at) == "exp.toml:4:1");
    CHECK(e.model.options == OptionList{{"depth", int64_t{50}}, {"version", std::string("v1.5")}});
    CHECK(e.device.use == "cpu");  // what "auto" stands for here
    CHECK(e.device.options == OptionList{{"profile", false}});
    CHECK(e.data.use == "shapes");
    CHECK(e.data.batch == 32);
    CHECK(e.data.options == OptionList{{"train", int64_t{1000}}});
    CHECK(e.optimizer == OptimizerOptions{});
    CHECK(e.schedule == ScheduleChoice{});
    CHECK(e.checkpoint == CheckpointOptions{});
    CHECK(e.report == ReportOptions{});
    CHECK_FALSE(e.comm.has_value());
    CHECK_FALSE(e.sync.has_value());
    CHECK_FALSE(e.benchmark.has_value());
  }

  TEST_CASE("every key of the core is read") {
    const Experiment e = made(R"([run]
name = "one"
steps = 7
seed = 9
label_smoothing = 0.1
predictions = true
log_every = 5
evaluate_every_epochs = 0
[model]
use = "resnet"
classes = 10
image = 64
weights = "w.safetensors"
depth = 18
[device]
use = "other"
ordinals = [3]
precision = "bf16"
execution = "stitched"
deterministic = true
threads = 2
[comm]
use = "threads"
link = { bandwidth = "2.5Gbit", latency = "50us" }
[sync]
use = "ring_allreduce"
overlap = false
[data]
use = "idx"
path = "p"
batch = 8
train_limit = 100
eval_limit = 50
residency = "device"
remainder = "drop"
mean = [0.5, 1]
std = [0.25, 0.5]
shuffle = false
augment = false
workers = 3
[optimizer]
lr = 1
momentum = 0.5
weight_decay = 1e-4
nesterov = true
[schedule]
use = "step"
warmup_steps = 5
warmup_start = 0.1
milestones = [1, 2.5]
gamma = 0.2
[checkpoint]
every_epochs = 2
keep_last = 0
[report]
price_per_minute = { "NVIDIA H200" = 0.06, cpu = 1 }
currency = "EUR"
[benchmark]
pass = "inference"
warmup_steps = 0
steps = 3
repeats = 2
)");
    CHECK(e.run == RunOptions{"one", Mode::train, 0, 7, 9, 0.1, true, 5, 0});
    CHECK(e.model.classes == 10);
    CHECK(e.model.image == 64);
    CHECK(e.model.weights == "w.safetensors");
    CHECK(*find_option(e.model.options, "depth") == OptionValue{"depth", int64_t{18}});
    CHECK(e.device.use == "other");
    CHECK(e.device.ordinals == std::vector<int64_t>{3});
    CHECK(e.device.precision == "bf16");
    CHECK(e.device.execution == "stitched");
    CHECK(e.device.deterministic);
    CHECK(e.device.threads == 2);
    REQUIRE(e.comm.has_value());
    CHECK(e.comm->use == "threads");
    CHECK(e.comm->options == OptionList{{"spin", true}});
    CHECK(e.comm->link == Link{"2.5Gbit", "50us", 2.5e9, 50 * 1e-6});
    REQUIRE(e.sync.has_value());
    CHECK(e.sync->options == OptionList{{"bucket_mib", 25.0}, {"overlap", false}});
    CHECK(e.data.use == "idx");
    CHECK(e.data.options == OptionList{{"path", std::string("p")}});
    CHECK(e.data.batch == 8);
    CHECK(e.data.train_limit == 100);
    CHECK(e.data.eval_limit == 50);
    CHECK(e.data.residency == "device");
    CHECK(e.data.remainder == "drop");
    CHECK(e.data.mean == std::vector<double>{0.5, 1});
    CHECK(e.data.stdev == std::vector<double>{0.25, 0.5});
    CHECK_FALSE(e.data.shuffle);
    CHECK_FALSE(e.data.augment);
    CHECK(e.data.workers == 3);
    CHECK(e.optimizer == OptimizerOptions{"sgd", 1, 0.5, 0, 1e-4, true});
    CHECK(e.schedule == ScheduleChoice{"step", 0, 5, 0.1, {1, 2.5}, 0, 0.2, 0});
    CHECK(e.checkpoint == CheckpointOptions{2, 0});
    CHECK(e.report == ReportOptions{{{"NVIDIA H200", 0.06}, {"cpu", 1}}, "EUR"});
    CHECK(e.benchmark == BenchmarkOptions{"inference", 0, 3, 2});
  }

  TEST_CASE("an unknown table or key is refused with place, the known and the nearest") {
    CHECK(refused_with("[optimiser]\nlr = 1") ==
          "exp.toml:5:2: unknown table 'optimiser'\n"
          "  known  run, model, device, comm, sync, data, optimizer, schedule, checkpoint, report, benchmark, sweep\n"
          "  fix    did you mean [optimizer]?");
    CHECK(refused("epochs = 3").starts_with("exp.toml:1:1: unknown key 'epochs'"));
    CHECK(refused_run("epohcs = 3") ==
          "exp.toml:2:1: unknown key 'epohcs' in [run]\n"
          "  known  epochs, evaluate_every_epochs, label_smoothing, log_every, mode, name, predictions, seed, steps\n"
          "  fix    did you mean 'epochs'?");
    for (const char* table : {"run", "optimizer", "schedule", "checkpoint", "report", "benchmark"}) {
      const std::string head = table == std::string("run") ? "[model]\nuse = 'resnet'\n[run]\nepochs = 1\n" : std::string(kLeast) + "[" + table + "]\n";
      CHECK(contains(refused(head + "\"x\\ty\" = 1"), std::string(": unknown key '\"x\\ty\"' in [") + table + "]"));
    }
    CHECK(contains(refused_with("[device]\nprecison = 'bf16'"), "unknown option 'precison' in [device] (exp.toml:6:1)"));
    CHECK(contains(refused_with("[device]\nprecison = 'bf16'"), "did you mean 'precision'?"));
    CHECK(contains(refused_with("[comm]\nuse = 'threads'\n[comm.link]\nlatncy = '1us'"), "exp.toml:8:1: unknown key 'latncy' in [comm.link]"));
  }

  TEST_CASE("a table that is none is refused") {
    CHECK(refused("run = 3").starts_with("exp.toml:1:1: 'run' is an integer; a table is expected"));
    CHECK(refused_with("[[data]]\nuse = 'idx'").starts_with("exp.toml:5:3: 'data' is an array; a table is expected"));
  }

  TEST_CASE("training needs epochs or steps, and not both") {
    CHECK(contains(refused("[model]\nuse = 'resnet'"), "[run] says neither epochs nor steps"));
    CHECK(refused_run("seed = 1").starts_with("exp.toml:1:2: [run] says neither epochs nor steps"));
    CHECK(refused_run("epochs = 1\nsteps = 2").starts_with("exp.toml:3:1: [run] says both epochs and steps"));
    CHECK(contains(refused_run("epochs = 0"), "exp.toml:2:1: run.epochs = 0 is not allowed; an integer of at least 1 is expected"));
  }

  TEST_CASE("a file made for training can be evaluated, and its length then means nothing") {
    CHECK(made("[run]\nmode = 'evaluate'\n[model]\nuse = 'resnet'").run.mode == Mode::evaluate);
    const Experiment e = made("[run]\nmode = 'evaluate'\nepochs = 3\n[model]\nuse = 'resnet'");
    CHECK(e.run.epochs == 0);
    CHECK(e.run.steps == 0);
  }

  TEST_CASE("what is not in this version says so") {
    for (const char* text :
         {"[optimizer]\nuse = 'adamw'", "[optimizer]\nuse = 'lars'", "[optimizer]\nuse = 'rmsprop'", "[schedule]\nuse = 'polynomial'", "[device]\ncount = 2"}) {
      CAPTURE(text);
      CHECK(contains(refused_with(text), "not available in this version"));
    }
  }

  TEST_CASE("several replicas need comm and sync, and are refused until they can run") {
    const std::string two = "[device]\ncount = 2\n", comm = "[comm]\nuse = 'threads'\n", sync = "[sync]\nuse = 'ring_allreduce'\n";
    CHECK(refused_with(two).starts_with("exp.toml:6:1: device.count = 2: several replicas need [comm] and [sync], and are not available"));
    CHECK(contains(refused_with(two + comm), "several replicas need [sync], and are not available"));
    CHECK(contains(refused_with(two + sync), "several replicas need [comm], and are not available"));
    CHECK(contains(refused_with(two + comm + sync), "several replicas are not available"));
  }

  TEST_CASE("a benchmark needs no length, and has all its defaults without a table of its own") {
    const Experiment e = made("[run]\nmode = 'benchmark'\n[model]\nuse = 'resnet'");
    CHECK(e.run.mode == Mode::benchmark);
    CHECK(e.benchmark == BenchmarkOptions{});
  }

  TEST_CASE("a sweep is not one experiment") {
    CHECK(contains(refused_with("[sweep]\n'optimizer.lr' = [0.1, 0.2]"), "many experiments"));
  }

  TEST_CASE("sweep and benchmark are checked even where they mean nothing") {
    CHECK(refused_with("[sweep]") == "");
    CHECK(contains(refused_with("[sweep]\n'data.batch' = 3"), "sweep.\"data.batch\" = 3 is not allowed; a list of values is expected"));
    CHECK(contains(refused_with("[sweep]\n'data.batch' = []"), "a list of values is expected"));
    CHECK(made(std::string(kLeast) + "[benchmark]").benchmark == BenchmarkOptions{});
    CHECK(contains(refused_with("[benchmark]\npass = 'both'"), "exp.toml:6:1: benchmark.pass = \"both\" is not allowed"));
    CHECK(contains(refused_with("[benchmark]\nsteps = 0"), "benchmark.steps = 0 is not allowed"));
  }

  TEST_CASE("values outside what is allowed are refused, with place and what is expected") {
    for (const char* text :
         {"[data]\nbatch = 0", "[data]\nbatch = 1.5", "[data]\nbatch = '8'", "[data]\ntrain_limit = -1", "[data]\nresidency = 'disk'", "[data]\nremainder = 'keep'",
          "[data]\nshuffle = 1", "[data]\nmean = 0.5", "[data]\nmean = ['a']", "[data]\nmean = [nan]", "[data]\nmean = [0.5]\nstd = [0]", "[data]\nworkers = -1",
          "[device]\ncount = 0", "[device]\nordinals = [-1]", "[device]\nordinals = 0", "[device]\nprecision = 'fp8'", "[device]\nexecution = 'eager'",
          "[device]\nthreads = -1", "[optimizer]\nlr = -0.1", "[optimizer]\nlr = inf", "[optimizer]\nlr = nan", "[optimizer]\nlr = '0.1'", "[optimizer]\nmomentum = 1.1",
          "[optimizer]\nuse = 'sdg'", "[schedule]\nuse = 'linear'", "[schedule]\nwarmup_start = 2", "[schedule]\nuse = 'step'\nmilestones = [-1]",
          "[schedule]\nuse = 'step'\nevery_epochs = 1e-9", "[schedule]\nuse = 'step'\nevery_epochs = 0", "[checkpoint]\nkeep_last = -1", "[report]\ncurrency = 5",
          "[report]\nprice_per_minute = -1", "[report]\nprice_per_minute = inf", "[report]\nprice_per_minute = { a = 'b' }", "[report]\nprice_per_minute = { '' = 1 }"}) {
      CAPTURE(text);
      const std::string refusal = refused_with(text);
      CHECK(refusal.starts_with("exp.toml:"));
      CHECK(contains(refusal, " is not allowed"));
    }
    CHECK(refused_with("[data]\nbatch = 0") == "exp.toml:6:1: data.batch = 0 is not allowed; an integer from 1 to 16777216 is expected");
    CHECK(contains(refused_with("[optimizer]\nuse = 'sdg'"), "did you mean \"sgd\"?"));
  }

  TEST_CASE("values that do not go together are refused") {
    CHECK(contains(refused_with("[device]\nordinals = [0, 1]"), "device.ordinals names 2 devices, device.count is 1"));
    CHECK(contains(refused_with("[data]\nmean = [0.5]"), "exp.toml:6:1: data.mean and data.std need one number a channel each"));
    CHECK(contains(refused_with("[data]\nstd = [0.5]"), "exp.toml:6:1: data.mean and data.std need"));
    CHECK(contains(refused_with("[data]\nmean = [1,1,1,1,1]\nstd = [1,1,1,1,1]"), "at most 4"));
    CHECK(contains(refused_with("[optimizer]\nnesterov = true\nmomentum = 0"), "exp.toml:6:1: optimizer.nesterov needs momentum"));
    CHECK(contains(refused_with("[optimizer]\nnesterov = true\ndampening = 0.1"), "no dampening"));
    CHECK(contains(refused_with("[schedule]\nuse = 'step'"), "exp.toml:6:1: schedule.use = \"step\" needs either milestones or every_epochs"));
    CHECK(contains(refused_with("[schedule]\nuse = 'step'\nmilestones = [1]\nevery_epochs = 2"), "either"));
    CHECK(contains(refused_with("[schedule]\nwarmup_epochs = 1\nwarmup_steps = 2"), "exp.toml:7:1: [schedule] says both"));
    CHECK(contains(refused_with("[schedule]\ngamma = 0.1"), "exp.toml:6:1: schedule.gamma belongs to use = \"step\""));
    CHECK(contains(refused_with("[schedule]\nuse = 'step'\nevery_epochs = 1\nfinal_lr = 0"), "schedule.final_lr belongs to use = \"cosine\""));
  }

  TEST_CASE("a plugin's table must name it, and it must exist") {
    CHECK(contains(refused("[run]\nepochs = 1"), "[model] does not say which"));
    CHECK(refused("[run]\nepochs = 1\n[model]\ndepth = 3").starts_with("exp.toml:3:2: [model] does not say which"));
    CHECK(contains(refused_with("[comm]\nlink.latency = '1us'"), "exp.toml:5:2: [comm] does not say which"));
    CHECK(contains(refused_with("[sync]"), "[sync] does not say which"));
    CHECK(contains(refused_with("[data]\nuse = 'imagenet'"), "error[P101]: exp.toml:6:1: there is no data \"imagenet\""));
    CHECK(contains(refused_with("[data]\nuse = 5"), "exp.toml:6:1: data.use = 5 is not allowed; a string is expected"));
    CHECK(contains(refused_with("[data]\nuse = 'idx'"), "[data] needs 'path' (exp.toml:5:2)"));
    CHECK(contains(refused_with("[data]\npath = 'x'"), "unknown option 'path' in [data]"));  // shapes reads no files
  }

  TEST_CASE("a plugin may not claim what is the core's") {
    testing::Schemas schemas;
    const auto claim = [&](const char* kind, const char* use, const std::string& schema) {
      schemas.set(kind, use, schema);
      const std::string text = std::string(kLeast) + "[comm]\nuse = 'threads'\n";
      return refusal([&] { return make_experiment(parse_toml(text, "f"), "f", schemas); }, ErrorKind::plugin);
    };
    CHECK(claim("model", "resnet", "use : string = \"\"") == "plugin 'resnet' wants the option 'use' of [model], which is the core's");
    CHECK(contains(claim("model", "resnet", "image.x : int = 1"), "'image.x' of [model]"));
    CHECK(contains(claim("model", "resnet", "imago : int"), "wrong kind"));  // its own key, that is missing
    CHECK(claim("model", "resnet", "imago : int = 1") == "");
    CHECK(contains(claim("comm", "threads", "link.loss : float = 0"), "'link.loss' of [comm]"));
    CHECK(contains(claim("comm", "threads", "broken"), "the option schema of 'threads' is wrong in line 1"));
  }

  TEST_CASE("an emulated link is read in the units of networks") {
    const auto link = [](const std::string& text) { return *made(kLeast + ("[comm]\nuse = 'threads'\nlink = {" + text + "}")).comm->link; };
    CHECK(link("bandwidth = '10Gbit'").bits_per_s == 10e9);
    CHECK(link("bandwidth = '800kbit'").bits_per_s == 800e3);
    CHECK(link("latency = '2ms'").latency_s == 2e-3);
    CHECK(link("latency = '0s'").latency_s == 0);
    CHECK(link("").bits_per_s == 0);
    for (const char* text : {"bandwidth = 10", "bandwidth = '10'", "bandwidth = 'Gbit'", "bandwidth = '10 Gbit'", "bandwidth = '10GB'", "bandwidth = '-1bit'",
                             "bandwidth = '0bit'", "bandwidth = 'infbit'", "bandwidth = 'nanbit'", "latency = '5'", "latency = '5us '", "latency = '-5us'"}) {
      CAPTURE(text);
      CHECK(contains(refused_with("[comm]\nuse = 'threads'\nlink = {" + std::string(text) + "}"), " is not allowed; "));
    }
    CHECK(contains(refused_with("[comm]\nuse = 'threads'\nlink = 'slow'"), "comm.link = \"slow\" is a string; a table is expected"));
  }

  TEST_CASE("a run's name comes from the file, and can be written") {
    testing::Schemas schemas;
    const auto named = [&](const std::string& name) {
      return refusal([&] { return make_experiment(parse_toml(kLeast, "f"), name, schemas); });
    };
    CHECK(named("exp \xC3\xA9") == "");
    CHECK(contains(named("exp\xff"), "run.name is empty, or no UTF-8 text"));
    CHECK(contains(refused_run("epochs = 1\nname = ''"), "exp.toml:3:1: run.name is empty"));
    CHECK(contains(refused_run("epochs = 1\nname = \"a\\nb\""), "exp.toml:3:1: run.name is empty"));
  }

  TEST_CASE("an empty file says what is missing") {
    CHECK(contains(refused(""), "exp: [run] says neither epochs nor steps"));
  }
}

}  // namespace
