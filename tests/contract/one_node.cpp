#include "one_node.hpp"

#include "comparison.hpp"
#include "devices.hpp"
#include "error.hpp"
#include "exec/program.hpp"
#include "interpreter.hpp"
#include "ir/op_rule.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

namespace convoy::contract {

namespace {

// A root mean square error of 3e-6 of the values' own: sums of up to some thousand f32 products in any order are
// an order of magnitude better, a wrong tap, pad or divisor is orders of magnitude worse.
constexpr double kNmseLimit = 1e-11;

constexpr uint32_t kTimeoutMs = 30'000;  // of one node; only a hang takes as long

/// What a graph's boundary values hold.
using Values = std::map<Value, std::vector<double>>;

std::vector<Value> results_of(const ir::Graph& g) {
  std::vector<Value> out;
  for (Value v : g.nodes[0].out)
    if (v != kNoValue) out.push_back(v);
  return out;
}

Value home(const ir::Graph& g, Value v) { return g[v].alias_of >= 0 ? static_cast<Value>(g[v].alias_of) : v; }

template <class F>
void with_type(DType t, F f) {
  switch (t) {
    case DType::u8: return f(uint8_t{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    default: return f(float{});
  }
}

/// Runs the case on a device. Errors: convoy::Error, P501 where it is refused.
class DeviceRun {
 public:
  DeviceRun(const exec::Device& device, const std::string& execution, const Case& c)
      : case_(c), store_(device), stream_(device), done_(device),
        program_(device, c.graph(), store_, {execution, false, nullptr}) {}

  Values results() {
    for (const auto& [v, data] : case_.data()) put(v, data);
    program_.refresh(stream_.get());
    program_.run(stream_.get(), 0);
    Values out;
    for (Value v : results_of(case_.graph())) out[v] = take(v);
    return out;
  }

  void check_description() const { CHECK(program_.coverage().nodes == 1); }

 private:
  void wait() {
    done_.record(stream_.get());
    done_.sync(kTimeoutMs);
  }

  void put(Value v, const std::vector<double>& data) {
    const DType t = case_.graph()[v].dtype;
    if (t == DType::f32) return program_.import_f32(v, {data.begin(), data.end()}, stream_.get());
    with_type(t, [&](auto type) {
      const std::vector<decltype(type)> typed(data.begin(), data.end());
      const uint64_t n = typed.size() * sizeof(type);
      program_.write(v, exec::host_view(typed.data(), n), 0, n, stream_.get());
      wait();
    });
  }

  std::vector<double> take(Value v) {
    const DType t = case_.graph()[v].dtype;
    std::vector<double> out;
    if (t == DType::f32) {
      const auto found = program_.export_f32(home(case_.graph(), v), stream_.get());
      return {found.begin(), found.end()};
    }
    with_type(t, [&](auto type) {
      std::vector<decltype(type)> typed(static_cast<std::size_t>(case_.graph()[v].elements()));
      const uint64_t n = typed.size() * sizeof(type);
      program_.read(v, exec::host_view(typed.data(), n), 0, n, stream_.get());
      wait();
      out.assign(typed.begin(), typed.end());
    });
    return out;
  }

  const Case& case_;
  exec::ParameterStore store_;
  exec::DeviceStream stream_;
  exec::DeviceEvent done_;
  exec::Program program_;
};

/// Collects the notes of ICompiler::check().
class Answers final : public INodeReport {
 public:
  Code note(uint32_t node, Via via, uint32_t, Str text) noexcept override {
    nodes.push_back(node);
    refused = refused || via == Via::refused;
    reason = sdk::text(text);
    return Code::ok;
  }
  std::vector<uint32_t> nodes;
  bool refused = false;
  std::string reason;
};

struct Claim {
  bool runs = false;
  std::string reason;
};

Claim claim(const exec::Device& device, const std::string& execution, const GraphView& g) {
  if (execution == "stitched") {
    auto s = sdk::sized<Support>();
    CHECK(device.kernels()->supports(g, 0, &s) == Code::ok);
    return {s.code == Code::ok, s.reason};
  }
  Answers answers;
  CHECK(device.compiler()->check(g, answers) == Code::ok);
  CHECK_MESSAGE(answers.nodes == std::vector<uint32_t>{0}, "one note for each node");
  return {!answers.refused, answers.reason};
}

void compare(const Case& c, const Values& found, const Values& truth) {
  for (const auto& row : truth) {
    const Value v = row.first;  // clang: a structured binding cannot be captured by a message
    const std::vector<double>& expected = row.second;
    const bool exact = c.graph()[v].dtype != DType::f32;
    const double error = nmse(found.at(v), expected);
    const bool good = exact ? found.at(v) == expected : error <= kNmseLimit;  // false for NaN
    CHECK_MESSAGE(good, "value " << v << ": error " << error << ", " << worst_element(found.at(v), expected));
  }
}

/// Runs one case in one way; returns the reason where it is refused.
std::string hold_one(const exec::Device& device, const std::string& execution, const Case& c, const Values& truth) {
  INFO(device.name() << ", " << execution << ", " << std::string(ir::rule_of(c.op()).name) << ": " << c.what());
  host().take_message();
  const ir::FlatGraph flat(c.graph());
  const Claim said = claim(device, execution, flat.view());
  if (!said.runs) {
    CHECK_MESSAGE(!said.reason.empty(), "refused without a reason");
    CHECK_THROWS_AS(DeviceRun(device, execution, c), Error);
    return said.reason;
  }
  try {
    DeviceRun run(device, execution, c);
    run.check_description();
    compare(c, run.results(), truth);
  } catch (const Error& e) {
    FAIL_CHECK("claimed, but: " << e.render());
  }
  return "";
}

struct Tally {
  int cases = 0;
  int run = 0;
  std::set<std::string> reasons;
};

std::string line(const std::string& who, const Tally& t) {
  std::string out = fmt::format("  {:<18} {:>3} of {:>3}", who, t.run, t.cases);
  for (const auto& reason : t.reasons) out += "\n    refused: " + reason;
  return out;
}

}  // namespace

Fill around_zero() { return between(-1, 1); }
Fill between(double lo, double hi) {
  return [=](sdk::Random& r, int64_t) { return r.uniform(static_cast<float>(lo), static_cast<float>(hi)); };
}
Fill few_values() {
  return [](sdk::Random& r, int64_t) { return static_cast<double>(r.below(5)) - 2; };
}
Fill classes(int64_t n, int64_t gap) {
  return [=](sdk::Random& r, int64_t i) {
    return gap > 0 && i % gap == gap - 1 ? -1.0 : static_cast<double>(r.below(static_cast<uint32_t>(n)));
  };
}
Fill bytes() {
  return [](sdk::Random& r, int64_t) { return static_cast<double>(r.below(256)); };
}
Fill constant(double value) {
  return [=](sdk::Random&, int64_t) { return value; };
}
Fill listed(std::vector<double> values) {
  return [values = std::move(values)](sdk::Random&, int64_t i) { return values[static_cast<std::size_t>(i)]; };
}

Value Case::give(Role role, const Dims& dims, const Fill& fill, DType t) {
  ir::Tensor tensor;
  tensor.name = fmt::format("in{}", data_.size());
  tensor.dtype = t;
  tensor.dims = dims;
  tensor.role = role;
  const int64_t n = tensor.elements();
  const Value v = graph_.add(std::move(tensor));
  sdk::Random random(seed_, sdk::RandomUse::synthetic, 0, v);
  for (int64_t i = 0; i < n; ++i) {
    const double value = fill(random, i);
    data_[v].push_back(t == DType::f32 ? static_cast<double>(static_cast<float>(value)) : value);
  }
  return v;
}

void Case::append(Op op, std::vector<Value> in, std::vector<std::byte> attrs) {
  const Phase phase = op >= Op::sgd ? Phase::update : op >= Op::conv2d_dgrad ? Phase::backward : Phase::forward;
  const auto out = ir::append_node(graph_, op, std::move(in), std::move(attrs), "node", phase);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == kNoValue || graph_[out[i]].alias_of >= 0) continue;
    graph_[out[i]].role = Role::output;
    graph_[out[i]].name = fmt::format("out{}", i);
  }
}

Values truth_of(const Case& c) {
  const ir::FlatGraph flat(c.graph());
  reference::Interpreter run(flat.view());
  for (const auto& row : c.data()) {
    const Value v = row.first;
    const std::vector<double>& data = row.second;
    if (c.graph()[v].dtype == DType::f32) std::copy(data.begin(), data.end(), run.f(v));
    else with_type(c.graph()[v].dtype, [&](auto type) {
      using T = decltype(type);
      std::transform(data.begin(), data.end(), run.as<T>(v), [](double d) { return static_cast<T>(d); });
    });
  }
  run.run();
  Values out;
  for (Value v : results_of(c.graph())) {
    if (c.graph()[v].dtype == DType::f32) out[v] = run.copy(v);
    else with_type(c.graph()[v].dtype, [&](auto type) {
      const auto* p = run.as<decltype(type)>(v);
      out[v].assign(p, p + run.count(v));
    });
  }
  return out;
}

std::vector<double> first_output(const Case& c) { return truth_of(c).at(c.graph().nodes[0].out[0]); }

void hold_to_reference(const std::vector<Case>& cases) {
  std::vector<Values> truth;
  for (const Case& c : cases) truth.push_back(truth_of(c));
  std::map<Op, std::map<std::string, Tally>> table;
  for (const std::string& name : device_names()) {
    const auto device = open_device(name);
    for (const std::string& execution : executions(*device))
      for (std::size_t i = 0; i < cases.size(); ++i) {
        Tally& tally = table[cases[i].op()][name + " " + execution];
        const std::string refused = hold_one(*device, execution, cases[i], truth[i]);
        ++tally.cases;
        if (refused.empty()) ++tally.run;
        else tally.reasons.insert(refused);
      }
  }
  std::string text;
  for (const auto& [op, rows] : table) {
    text += fmt::format("\n{}", ir::rule_of(op).name);
    for (const auto& [who, tally] : rows) text += "\n" + line(who, tally);
  }
  MESSAGE(text);
}

void check_claims(const Case& c) {
  const ir::FlatGraph flat(c.graph());
  for (const std::string& name : device_names()) {
    const auto device = open_device(name);
    for (const std::string& execution : executions(*device)) {
      const Claim said = claim(*device, execution, flat.view());
      CHECK_MESSAGE((said.runs || !said.reason.empty()), name << ", " << execution << ": " << c.what());
    }
  }
}

}  // namespace convoy::contract
