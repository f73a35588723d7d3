// Every refusal of every shape rule, once: it names operator and node, shows the shapes, and says what is allowed.
#include "graph_maker.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

using namespace convoy;
using namespace convoy::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Values of all kinds to build wrong nodes from.
struct Fixture : GraphMaker {
  Value x = input("x", {2, 6, 8, 8});
  Value other = input("other", {2, 6, 8, 7});
  Value flat = input("flat", {2, 10});
  Value one_number = input("one_number", {});
  Value bytes8 = input("bytes8", {2, 3, 8, 8}, DType::u8);
  Value wide = input("wide", {2, 5, 8, 8});
  Value half = input("half", {2, 6, 8, 8}, DType::f16);
  Value labels = input("labels", {2}, DType::i32);
  Value labels3 = input("labels3", {3}, DType::i32);
  Value w = param("w", {4, 3, 3, 3});
  Value fc = param("fc", {7, 10});
  Value c6 = param("c6", {6});
  Value c5 = param("c5", {5});
  Value mean = state("mean", {6});
  Value var = state("var", {6});
  Value counter = rng();
  Value lr = scalar("lr");
  Value buffer = state("buffer", {6});
  Value g6 = input("g6", {6});

  template <class Attrs>
  Thrown refuse(Op op, const std::vector<Value>& in, const Attrs& attrs, Phase phase = Phase::forward) {
    return thrown([&] { all(op, in, attrs, "n1", phase); });
  }
  Thrown refuse(Op op, const std::vector<Value>& in, Phase phase = Phase::forward) {
    return thrown([&] { one(op, in, "n1", phase); });
  }
  Thrown conv(const std::function<void(ConvAttrs&)>& change, Value from = kNoValue) {
    auto a = conv_attrs();
    a.groups = 2;
    change(a);
    return refuse(Op::conv2d, {from == kNoValue ? x : from, w}, a);
  }
  Thrown pool(const std::function<void(PoolAttrs&)>& change) {
    auto a = pool_attrs();
    change(a);
    return refuse(Op::max_pool, {x}, a);
  }
  template <class Attrs>
  Thrown update(Op op, const std::vector<Value>& in, const Attrs& attrs) {
    return refuse(op, in, attrs, Phase::update);
  }
};

void check_refused(const Thrown& t, const std::vector<std::string>& parts) {
  CHECK(t.kind == ErrorKind::usage);
  check_mentions(t.message, parts);
  check_mentions(t.message, {"'n1'"});
}

}  // namespace

TEST_SUITE("ir/op_rule") {
  TEST_CASE("the catalogue has a rule for every operator, each once and named as in the headers") {
    std::set<uint32_t> numbers;
    std::set<std::string> names;
    for (const ir::OpRule& r : ir::all_rules()) {
      numbers.insert(static_cast<uint32_t>(r.op));
      names.insert(r.name);
      CHECK((r.infer != nullptr));
      CHECK(r.min_inputs <= r.max_inputs);
    }
    CHECK(ir::all_rules().size() == 43);  // opset 1
    CHECK(numbers.size() == 43);
    CHECK(names.size() == 43);
    CHECK(std::string(ir::rule_of(Op::softmax_xent_grad).name) == "softmax_xent_grad");
    CHECK(ir::find_rule(static_cast<Op>(999)) == nullptr);
    CHECK(thrown([] { ir::rule_of(static_cast<Op>(999)); }).message == "no operator has the number 999");
  }

  TEST_CASE("a message gives operator, node, all shapes and the reason") {
    Fixture f;
    CHECK(f.refuse(Op::linear, {f.flat, f.c6}).message ==
          "linear 'n1' of (2,10) (6): input 1 has 1 dimensions, 2 are expected");
    CHECK(f.refuse(Op::add, {f.x, f.other}).message ==
          "add 'n1' of (2,6,8,8) (2,6,8,7): inputs 0 and 1 have shapes (2,6,8,8) and (2,6,8,7); equal ones are expected");
  }

  TEST_CASE("a refused node leaves the graph as it was") {
    Fixture f;
    const std::size_t tensors = f.graph.tensors.size();
    check_refused(f.refuse(Op::add, {f.x, f.flat}), {"(2,10)"});
    CHECK(f.graph.tensors.size() == tensors);
    CHECK(f.graph.nodes.empty());
  }

  TEST_CASE("inputs: how many, whether they exist, of which type") {
    Fixture f;
    check_refused(f.refuse(Op::add, {f.x}), {"add", "1 inputs given, 2 are expected"});
    check_refused(f.refuse(Op::relu, {f.x, f.x}), {"2 inputs given, 1 are expected"});
    check_refused(f.refuse(Op::weighted_sum, {}, weighted_attrs({})), {"of nothing", "0 inputs given, at least 1 are expected"});
    check_refused(f.refuse(Op::relu, {kNoValue}), {"relu", "input 0 is absent"});
    check_refused(f.refuse(Op::relu, {12345}), {"input 0 is value 12345, which does not exist"});
    check_refused(f.refuse(Op::relu, {f.labels}), {"input 0 is i32; f32, f16 or bf16 is expected"});
    check_refused(f.refuse(Op::add, {f.x, f.half}), {"inputs 0 and 1 are f32 and f16; equal types are expected"});
  }

  TEST_CASE("attributes: none, missing, cut short, from a newer author") {
    Fixture f;
    check_refused(f.refuse(Op::relu, {f.x}, pool_attrs()), {"bytes of attributes given, none are expected"});
    check_refused(thrown([&] { f.bytes(Op::lrn, {f.x}, {}, "n1"); }), {"begin with struct_size 0 and have 0 bytes", "32 here"});
    auto unsized_attrs = lrn_attrs();
    unsized_attrs.struct_size = 0;
    check_refused(f.refuse(Op::lrn, {f.x}, unsized_attrs), {"struct_size 0 and have 32 bytes"});

    struct Newer {
      LrnAttrs known;
      double tail;
    };
    Newer newer{lrn_attrs(), 0.5};
    newer.known.struct_size = sizeof newer;
    check_refused(f.refuse(Op::lrn, {f.x}, newer), {"sets an attribute behind the 32 bytes that this host knows"});
    newer.tail = 0;
    CHECK(f.refuse(Op::lrn, {f.x}, newer).message.empty());  // what it adds is at its default
    CHECK(f.node("n1").attrs == ir::pack(lrn_attrs()));

    std::vector<std::byte> older = ir::pack(pool_attrs());  // before input_size existed
    older.resize(offsetof(PoolAttrs, input_size));
    const auto size = static_cast<uint32_t>(older.size());
    std::memcpy(older.data(), &size, sizeof size);
    f.bytes(Op::max_pool, {f.x}, older, "older");
    CHECK(f.node("older").attrs.size() == sizeof(PoolAttrs));
  }

  TEST_CASE("outputs that no memory holds") {
    Fixture f;
    check_refused(f.refuse(Op::fill, {}, fill_attrs({2, 0}, 0)), {"the output would be (2,0)"});
    const int64_t big = int64_t{1} << 40;
    check_refused(f.refuse(Op::fill, {}, fill_attrs({big, big}, 0)), {"is too large"});
    auto padded = conv_attrs();
    padded.groups = 2;
    padded.pad_lo[0] = padded.pad_lo[1] = std::numeric_limits<int32_t>::max();
    const Value many = f.input("many", {1 << 20, 6, 8, 8});
    check_refused(f.refuse(Op::conv2d, {many, f.w}, padded), {"conv2d", "is too large"});
  }

  TEST_CASE("a value is not read after it was updated in place") {
    Fixture f;
    const auto out = f.all(Op::batch_norm, {f.x, f.c6, f.c6, f.mean, f.var}, batch_norm_attrs(), "bn");
    check_refused(f.refuse(Op::batch_norm, {out[0], f.c6, f.c6, f.mean, out[4]}, batch_norm_attrs()),
                  {"reads 'mean' after it was updated in place; take the updated value"});
  }

  TEST_CASE("conv2d") {
    Fixture f;
    CHECK(f.conv([](ConvAttrs&) {}).message.empty());
    check_refused(f.conv([](ConvAttrs& a) { a.stride[1] = 0; }), {"stride is 0; at least 1 is expected"});
    check_refused(f.conv([](ConvAttrs& a) { a.dilation[0] = -1; }), {"dilation is -1; at least 1 is expected"});
    check_refused(f.conv([](ConvAttrs& a) { a.groups = 0; }), {"groups is 0; at least 1 is expected"});
    check_refused(f.conv([](ConvAttrs& a) { a.pad_hi[0] = -1; }), {"padding 0 and -1; 0 or more is allowed"});
    check_refused(f.conv([](ConvAttrs& a) { a.groups = 4; }), {"4 groups do not divide 6 input and 4 output channels evenly"});
    check_refused(f.conv([](ConvAttrs& a) { a.groups = 1; }),
                  {"the weights take 3 channels a group; the input has 6 in 1 groups, so 6 are expected"});
    check_refused(f.conv([](ConvAttrs& a) { a.kernel[1] = 5; }), {"the kernel is given as 0x5 and is 3x3"});
    check_refused(f.conv([](ConvAttrs& a) { a.input_size[0] = 9; }), {"the input size is given as 9x0 and is 8x8"});
    check_refused(f.conv([](ConvAttrs& a) { a.dilation[0] = 4; }),
                  {"a 3x3 window with dilation 4x1 does not fit into 8x8 with this padding"});
    check_refused(f.conv([](ConvAttrs& a) { a.compute = DType::f16; }), {"sums are f32"});
    check_refused(f.conv([](ConvAttrs&) {}, f.flat), {"input 0 has 2 dimensions, 4 are expected"});
    check_refused(f.conv([](ConvAttrs&) {}, f.half), {"inputs 0 and 1 are f16 and f32"});
    const Value tall = f.input("tall", {1, 6, int64_t{1} << 32, 8});
    check_refused(f.conv([](ConvAttrs&) {}, tall), {"the input size is 4294967296x8; 2147483647 is the most either way"});
  }

  TEST_CASE("conv2d's gradients") {
    Fixture f;
    auto a = conv_attrs();
    a.groups = 2;
    f.one(Op::conv2d, {f.x, f.w}, a, "conv");  // (2,4,6,6)
    a = ir::unpack<ConvAttrs>(f.node("conv"));
    const Value dy = f.input("dy", {2, 4, 6, 6}), wrong = f.input("wrong", {2, 4, 5, 6});
    const Value wider = f.input("wider", {2, 8, 6, 6}), more = f.input("more", {3, 4, 6, 6}), odd = f.input("odd", {2, 3, 6, 6});
    const auto refuse = [&](Op op, const std::vector<Value>& in) { return f.refuse(op, in, a, Phase::backward); };
    CHECK(refuse(Op::conv2d_dgrad, {dy, f.w}).message.empty());
    CHECK(refuse(Op::conv2d_wgrad, {dy, f.x}).message.empty());
    check_refused(refuse(Op::conv2d_dgrad, {wrong, f.w}), {"the output gradient is 5x6, the attributes give 6x6"});
    check_refused(refuse(Op::conv2d_dgrad, {wider, f.w}), {"the gradient has 8 output channels, the weights 4"});
    check_refused(refuse(Op::conv2d_dgrad, {dy, f.param("w5", {4, 3, 5, 3})}), {"the kernel is given as 3x3 and is 5x3"});
    check_refused(refuse(Op::conv2d_wgrad, {more, f.x}), {"the gradient has 3 samples, the input 2"});
    check_refused(refuse(Op::conv2d_wgrad, {dy, f.other}), {"the input size is given as 8x8 and is 8x7"});
    check_refused(refuse(Op::conv2d_wgrad, {odd, f.x}), {"2 groups do not divide 6 input and 3 output channels evenly"});
    a.kernel[0] = 0;
    check_refused(refuse(Op::conv2d_wgrad, {dy, f.x}), {"kernel is 0; at least 1 is expected"});
  }

  TEST_CASE("pools") {
    Fixture f;
    CHECK(f.pool([](PoolAttrs&) {}).message.empty());
    check_refused(f.pool([](PoolAttrs& a) { a.window[0] = 0; }), {"max_pool", "window is 0; at least 1 is expected"});
    check_refused(f.pool([](PoolAttrs& a) { a.stride[1] = 0; }), {"stride is 0; at least 1 is expected"});
    check_refused(f.pool([](PoolAttrs& a) { a.pad_lo[0] = 2; }), {"padding 2 and 0 around a window of 2; 0 to 1 is allowed"});
    check_refused(f.pool([](PoolAttrs& a) { a.pad_hi[1] = -1; }), {"padding 0 and -1 around a window of 2; 0 to 1 is allowed"});
    check_refused(f.pool([](PoolAttrs& a) { a.input_size[1] = 7; }), {"the input size is given as 0x7 and is 8x8"});
    check_refused(f.pool([](PoolAttrs& a) { a.window[0] = 9; }), {"a 9x2 window does not fit into 8x8"});
    check_refused(f.refuse(Op::avg_pool, {f.flat}, pool_attrs()), {"avg_pool", "input 0 has 2 dimensions, 4 are expected"});

    f.one(Op::max_pool, {f.x}, pool_attrs(), "pool");
    const auto a = ir::unpack<PoolAttrs>(f.node("pool"));
    const Value dy = f.input("dy", {2, 6, 4, 4}), wrong = f.input("wrong", {2, 6, 4, 3}), fewer = f.input("fewer", {2, 5, 4, 4});
    check_refused(f.refuse(Op::avg_pool_grad, {wrong}, a, Phase::backward), {"the output gradient is 4x3, the attributes give 4x4"});
    check_refused(f.refuse(Op::max_pool_grad, {fewer, f.x, fewer}, a, Phase::backward), {"do not belong together"});
    check_refused(f.refuse(Op::max_pool_grad, {dy, f.x, fewer}, a, Phase::backward), {"equal ones are expected"});
    check_refused(f.refuse(Op::global_avg_pool, {f.x}, [] {
                    auto g = sized<GlobalPoolAttrs>();
                    g.input_size[0] = 7;
                    return g;
                  }()), {"the input size is given as 7x0 and is 8x8"});
    check_refused(f.refuse(Op::global_avg_pool, {f.flat}), {"input 0 has 2 dimensions, 4 are expected"});
    check_refused(f.refuse(Op::global_avg_pool_grad, {f.flat}, sized<GlobalPoolAttrs>(), Phase::backward),
                  {"input size is 0; at least 1 is expected"});
  }

  TEST_CASE("batch_norm") {
    Fixture f;
    const auto refuse = [&](const std::vector<Value>& in, BatchNormAttrs a) { return f.refuse(Op::batch_norm, in, a); };
    check_refused(refuse({f.x, f.c5, f.c6, f.mean, f.var}, batch_norm_attrs()),
                  {"input 1 has shape (5); (6) is expected, one value a channel"});
    check_refused(refuse({f.x, f.c6, f.c6, f.mean, f.var}, batch_norm_attrs(0)), {"eps is 0; it must be positive"});
    check_refused(refuse({f.x, f.c6, f.c6, f.mean, f.var}, batch_norm_attrs(kNan)), {"eps is nan"});
    check_refused(refuse({f.x, f.c6, f.c6, f.mean, f.var}, batch_norm_attrs(1e-5, 1.5)), {"momentum is 1.5; 0 to 1 is allowed"});
    check_refused(refuse({f.x, f.c6, f.c6, f.c6, f.var}, batch_norm_attrs()),
                  {"input 3 is updated in place, so it must be a state"});
    check_refused(f.refuse(Op::batch_norm_infer, {f.flat, f.c6, f.c6, f.mean, f.var}, batch_norm_attrs()),
                  {"input 0 has 2 dimensions, 4 are expected"});
    check_refused(f.refuse(Op::batch_norm_grad, {f.x, f.other, f.c6, f.c6, f.c6}, batch_norm_attrs(), Phase::backward),
                  {"equal ones are expected"});
    check_refused(f.refuse(Op::batch_norm_grad, {f.x, f.x, f.c6, f.c5, f.c6}, batch_norm_attrs(), Phase::backward),
                  {"input 3 has shape (5); (6) is expected"});
  }

  TEST_CASE("linear and bias") {
    Fixture f;
    check_refused(f.refuse(Op::linear, {f.input("narrow", {2, 9}), f.fc}), {"the input has 9 features, the weights take 10"});
    check_refused(f.refuse(Op::linear, {f.x, f.fc}), {"input 0 has 4 dimensions, 2 are expected"});
    check_refused(f.refuse(Op::linear_dgrad, {f.flat, f.fc}, Phase::backward), {"the gradient has 10 output features, the weights 7"});
    check_refused(f.refuse(Op::linear_wgrad, {f.input("dy", {3, 7}), f.flat}, Phase::backward),
                  {"the gradient has 3 samples, the input 2"});
    check_refused(f.refuse(Op::bias_add, {f.x, f.c5}), {"input 1 has shape (5); (6) is expected, one value a channel"});
    check_refused(f.refuse(Op::bias_add, {f.g6, f.c6}), {"input 0 has 1 dimensions, 2 or 4 are expected"});
    check_refused(f.refuse(Op::bias_grad, {f.g6}, Phase::backward), {"2 or 4 are expected"});
  }

  TEST_CASE("lrn and dropout") {
    Fixture f;
    check_refused(f.refuse(Op::lrn, {f.x}, lrn_attrs(4)), {"size is 4; an odd number of channels is expected"});
    check_refused(f.refuse(Op::lrn, {f.x}, lrn_attrs(-1)), {"size is -1"});
    check_refused(f.refuse(Op::lrn, {f.x}, lrn_attrs(5, 1e-4, 0.75, 0)), {"k is 0; it must be positive"});
    check_refused(f.refuse(Op::lrn, {f.x}, lrn_attrs(5, -1)), {"alpha is -1; 0 or more is allowed"});
    check_refused(f.refuse(Op::lrn, {f.x}, lrn_attrs(5, 1, kNan)), {"beta is nan; it must be finite"});
    check_refused(f.refuse(Op::lrn_grad, {f.x, f.other, f.x}, lrn_attrs(), Phase::backward), {"equal ones are expected"});
    check_refused(f.refuse(Op::dropout, {f.x, f.counter}, dropout_attrs(1)), {"p is 1; 0 to below 1 is allowed"});
    check_refused(f.refuse(Op::dropout, {f.x, f.counter}, dropout_attrs(kNan)), {"p is nan"});
    check_refused(f.refuse(Op::dropout, {f.x, f.flat}, dropout_attrs(0.5)), {"input 1 is f32, i64 is expected"});
    check_refused(f.refuse(Op::dropout, {f.x, f.input("rng2", {2}, DType::i64)}, dropout_attrs(0.5)),
                  {"the random counter has shape (2); (4) is expected"});
    check_refused(f.refuse(Op::dropout, {f.one_number, f.counter}, dropout_attrs(0.5)), {"a scalar has no samples to drop from"});
    f.one(Op::dropout, {f.x, f.counter}, dropout_attrs(0.5, 3), "drop");
    check_refused(f.refuse(Op::dropout, {f.x, f.counter}, dropout_attrs(0.5, 3)), {"stream 3 is already that of 'drop'"});
  }

  TEST_CASE("sums, concatenation, slices and reshapes") {
    Fixture f;
    check_refused(f.refuse(Op::weighted_sum, {f.x, f.x}, weighted_attrs({1})),
                  {"1 weights for 2 inputs; equally many are expected, at most 8"});
    check_refused(f.refuse(Op::weighted_sum, std::vector<Value>(9, f.x), weighted_attrs(std::vector<double>(9, 1))),
                  {"9 weights for 9 inputs", "at most 8"});
    check_refused(f.refuse(Op::weighted_sum, {f.x}, weighted_attrs({kNan})), {"weight 0 is nan; it must be finite"});
    check_refused(f.refuse(Op::add_n, {f.x, f.wide}, Phase::backward), {"(2,6,8,8) and (2,5,8,8)"});
    check_refused(f.refuse(Op::concat, {f.x, f.other}, concat_attrs(1)),
                  {"inputs 0 and 1 have shapes (2,6,8,8) and (2,6,8,7); they may differ along axis 1 only"});
    check_refused(f.refuse(Op::concat, {f.x, f.flat}, concat_attrs(1)), {"input 1 has 2 dimensions, 4 are expected"});
    check_refused(f.refuse(Op::concat, {f.x, f.half}, concat_attrs(1)), {"equal types are expected"});
    check_refused(f.refuse(Op::concat, {f.x}, concat_attrs(4)), {"axis is 4; 0 to 3 is allowed"});
    check_refused(f.refuse(Op::concat, {f.x}, concat_attrs(-1)), {"axis is -1; 0 to 3 is allowed"});
    check_refused(f.refuse(Op::concat, {f.one_number}, concat_attrs(0)), {"a scalar has no axis"});
    check_refused(f.refuse(Op::slice, {f.x}, slice_attrs(1, 4, 3), Phase::backward),
                  {"3 elements from 4 on are not within the 6 along axis 1"});
    check_refused(f.refuse(Op::slice, {f.x}, slice_attrs(1, std::numeric_limits<int64_t>::max(), 6), Phase::backward),
                  {"are not within the 6 along axis 1"});
    check_refused(f.refuse(Op::slice, {f.x}, slice_attrs(1, 0, std::numeric_limits<int64_t>::max()), Phase::backward),
                  {"are not within the 6 along axis 1"});
    check_refused(f.refuse(Op::slice, {f.x}, slice_attrs(1, 0, 0), Phase::backward), {"0 elements from 0 on"});
    check_refused(f.refuse(Op::reshape, {f.x}, reshape_attrs({2, 383})), {"(2,383) has 766 elements, the input 768"});
    check_refused(f.refuse(Op::reshape, {f.x}, reshape_attrs({-2, -384})), {"(-2,-384) has a dimension below 1"});
    const int64_t big = int64_t{1} << 40;
    check_refused(f.refuse(Op::reshape, {f.x}, reshape_attrs({big, big})), {"the input 768"});
    auto seven = reshape_attrs({1});
    seven.rank = 7;
    check_refused(f.refuse(Op::reshape, {f.x}, seven), {"7 dimensions; at most 6 are allowed"});
  }

  TEST_CASE("casts, images and constants") {
    Fixture f;
    check_refused(f.refuse(Op::cast, {f.x}, cast_attrs(static_cast<DType>(9))), {"no type has the number 9"});
    check_refused(f.refuse(Op::cast_copy, {f.x}, cast_attrs(DType::i32), Phase::update), {"a working copy is f16 or bf16"});
    check_refused(f.refuse(Op::cast_copy, {f.half}, cast_attrs(DType::bf16), Phase::update), {"input 0 is f16, f32 is expected"});
    auto image = sized<ImageNormalizeAttrs>();
    for (float& s : image.stdev) s = 1;
    check_refused(f.refuse(Op::image_normalize, {f.x}, image), {"6 channels; at most 4 are allowed"});
    check_refused(f.refuse(Op::image_normalize, {f.half}, image), {"input 0 is f16, f32 is expected"});
    image.stdev[2] = 0;
    check_refused(f.refuse(Op::image_normalize, {f.bytes8}, image), {"the deviation of channel 2 is 0; it must be positive"});
    image.stdev[2] = 1;
    image.mean[1] = std::nanf("");
    check_refused(f.refuse(Op::image_normalize, {f.bytes8}, image), {"the mean of channel 1 is nan"});
    auto fill = fill_attrs({1}, 0);
    fill.dtype = DType{};
    check_refused(f.refuse(Op::fill, {}, fill), {"no type has the number 0"});
    fill.rank = 7;
    check_refused(f.refuse(Op::fill, {}, fill), {"7 dimensions; at most 6 are allowed"});
  }

  TEST_CASE("softmax_xent") {
    Fixture f;
    check_refused(f.refuse(Op::softmax_xent, {f.flat, f.labels3}, xent_attrs()),
                  {"labels have shape (3); (2) is expected, one a sample"});
    check_refused(f.refuse(Op::softmax_xent, {f.flat, f.flat}, xent_attrs()), {"input 1 is f32, i32 is expected"});
    check_refused(f.refuse(Op::softmax_xent, {f.x, f.labels}, xent_attrs()), {"input 0 has 4 dimensions, 2 are expected"});
    check_refused(f.refuse(Op::softmax_xent, {f.flat, f.labels}, xent_attrs(1)), {"label_smoothing is 1; 0 to below 1 is allowed"});
    check_refused(f.refuse(Op::softmax_xent_grad, {f.flat, f.labels, f.c6}, xent_attrs(), Phase::backward),
                  {"input 2 has 1 dimensions, 0 are expected"});
  }

  TEST_CASE("updates") {
    Fixture f;
    const std::vector<Value> plain{f.c6, f.g6, kNoValue, f.lr}, with_buffer{f.c6, f.g6, f.buffer, f.lr};
    check_refused(f.update(Op::sgd, {f.c6, kNoValue, kNoValue, f.lr}, sgd_attrs()), {"input 1 is absent"});
    check_refused(f.update(Op::sgd, {f.c6, f.c5, kNoValue, f.lr}, sgd_attrs()), {"(6) and (5); equal ones are expected"});
    check_refused(f.update(Op::sgd, {f.c6, f.g6, kNoValue, f.g6}, sgd_attrs()), {"input 3 has 1 dimensions, 0 are expected"});
    check_refused(f.update(Op::sgd, with_buffer, sgd_attrs(0)), {"momentum is 0 and its buffer given; they go together"});
    check_refused(f.update(Op::sgd, plain, sgd_attrs(0.9)), {"momentum is 0.9 and its buffer absent; they go together"});
    check_refused(f.update(Op::sgd, with_buffer, sgd_attrs(-1)), {"momentum is -1; 0 or more is allowed"});
    check_refused(f.update(Op::sgd, {f.g6, f.g6, kNoValue, f.lr}, sgd_attrs()),
                  {"input 0 is updated in place, so it must be a parameter"});
    check_refused(f.update(Op::sgd, {f.c6, f.g6, f.g6, f.lr}, sgd_attrs(0.9)),
                  {"input 2 is updated in place, so it must be a state"});
    auto sgd = sgd_attrs();
    sgd.weight_decay = -1;
    check_refused(f.update(Op::sgd, plain, sgd), {"weight_decay is -1; 0 or more is allowed"});
    sgd = sgd_attrs(0.9);
    sgd.dampening = kNan;
    check_refused(f.update(Op::sgd, with_buffer, sgd), {"dampening is nan; it must be finite"});
    sgd.dampening = 0.5;
    sgd.nesterov = 1;
    check_refused(f.update(Op::sgd, with_buffer, sgd), {"Nesterov momentum needs momentum above 0 and no dampening"});

    auto lars = sized<LarsAttrs>();
    check_refused(f.update(Op::lars, plain, lars), {"input 2 is absent"});
    lars.trust = -1;
    check_refused(f.update(Op::lars, with_buffer, lars), {"trust is -1; 0 or more is allowed"});
    auto rms = sized<RmspropAttrs>();
    rms.alpha = 1;
    check_refused(f.update(Op::rmsprop, {f.c6, f.g6, f.buffer, kNoValue, f.lr}, rms), {"alpha is 1; 0 to below 1 is allowed"});
    check_refused(f.update(Op::rmsprop, {f.c6, f.g6, kNoValue, kNoValue, f.lr}, rms), {"input 2 is absent"});
    auto adamw = sized<AdamwAttrs>();
    adamw.beta2 = 1.5;
    check_refused(f.update(Op::adamw, {f.c6, f.g6, f.buffer, f.mean, f.lr, f.lr}, adamw), {"beta2 is 1.5; 0 to below 1 is allowed"});
    auto ema = sized<EmaAttrs>();
    ema.decay = 2;
    check_refused(f.update(Op::ema, {f.buffer, f.c6}, ema), {"decay is 2; 0 to 1 is allowed"});
    auto check = sized<UnscaleCheckAttrs>();
    check.clip_norm = -1;
    check_refused(f.update(Op::unscale_check, {f.lr, f.g6}, check), {"clip_norm is -1; 0 or more is allowed"});
    check_refused(f.update(Op::unscale_check, {f.lr, f.labels}, sized<UnscaleCheckAttrs>()), {"input 1 is i32"});
  }

  TEST_CASE("markers") {
    Fixture f;
    const MarkerAttrs a{sizeof(MarkerAttrs), 0};
    check_refused(f.refuse(Op::grads_ready, {f.c6}, a, Phase::marker), {"input 0, 'c6', is no gradient"});
    check_refused(f.refuse(Op::params_needed, {f.c6, f.g6}, a, Phase::marker), {"input 1, 'g6', is no parameter"});
  }

  TEST_CASE("products stop at the largest number instead of overflowing") {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    CHECK(ir::saturating_product({}) == 1);
    CHECK(ir::saturating_product({3, 4, 5}) == 60);
    CHECK(ir::saturating_product({kMost, 2}) == kMost);
    CHECK(ir::saturating_product({kMost, 2, 0}) == 0);
    CHECK(ir::saturating_product({kMost, 1}) == kMost);
  }
}
