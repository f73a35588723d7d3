// The binary layout of the plugin border against abi_golden.txt: sizes, offsets, types and values of all data, and the
// slot and signature of every virtual method. A change that moves anything breaks plugins that were built before it.
//
// How: slots come from pointers to members, types and signatures from typeid. Both are fixed by the Itanium C++ ABI,
// which g++ and clang++ follow on every machine that Convoy runs on: a pointer to a virtual member holds the byte offset
// of its vtable entry (x86-64: plus 1; AArch64, where code addresses may be odd: with the mark in the adjustment), and
// type names are mangled ones (c++filt -t reads them). Not a test of what the methods do.
#include <convoy/abi.hpp>
#include <convoy/ops.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace {

using namespace convoy;

const std::string kHowToChange =
    "the border has changed, which breaks every plugin built before. Before 1.0 and on purpose: raise CONVOY_ABI_EPOCH, copy "
    "the written file over tests/plugins/abi_golden.txt, and the headers into tests/plugins/frozen_1_0. After 1.0: add an "
    "interface with a new id instead";

/// Collects the lines, and the names, so that nothing in the headers is forgotten.
struct Golden {
  std::ostringstream text;
  std::set<std::string> types;
  std::size_t methods = 0, values = 0;

  void line(const std::string& s) { text << s << '\n'; }
};

template <class Method>
std::ptrdiff_t slot_of(Method m) {
  std::ptrdiff_t words[2];
  static_assert(sizeof m == sizeof words, "pointers to members are two words under the Itanium ABI");
  std::memcpy(words, &m, sizeof words);
#if defined(__aarch64__)
  return words[0] / static_cast<std::ptrdiff_t>(sizeof(void*));
#else
  return (words[0] - 1) / static_cast<std::ptrdiff_t>(sizeof(void*));
#endif
}

template <class T>
void begin_struct(Golden& g, const char* name) {
  static_assert(std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T>);
  g.types.insert(name);
  g.line("struct " + std::string(name) + " size " + std::to_string(sizeof(T)) + " align " + std::to_string(alignof(T)));
}

template <class T>
void begin_interface(Golden& g, const char* name, const char* id) {
  static_assert(sizeof(T) == sizeof(void*) && std::is_abstract_v<T> && !std::has_virtual_destructor_v<T>);
  g.types.insert(name);
  g.line("interface " + std::string(name) + (id[0] == '\0' ? "" : " " + std::string(id)));
}

template <class E>
void begin_enum(Golden& g, const char* name) {
  g.types.insert(name);
  g.line("enum " + std::string(name) + " " + typeid(std::underlying_type_t<E>).name());
}

// What the macros below add for each member named behind the type.
#define ONE_FIELD(T, f) g.line("  " + std::to_string(offsetof(T, f)) + " " #f " " + typeid(decltype(T::f)).name());
#define ONE_METHOD(T, m) \
  ++g.methods, g.line("  " + std::to_string(slot_of(&T::m)) + " " #m " " + typeid(decltype(&T::m)).name());
#define ONE_VALUE(T, v) ++g.values, g.line("  " + std::to_string(static_cast<int64_t>(T::v)) + " " #v);

#define PARENS ()
#define EXPAND(...) EXPAND3(EXPAND3(EXPAND3(EXPAND3(__VA_ARGS__))))
#define EXPAND3(...) EXPAND2(EXPAND2(EXPAND2(EXPAND2(__VA_ARGS__))))
#define EXPAND2(...) EXPAND1(EXPAND1(EXPAND1(EXPAND1(__VA_ARGS__))))
#define EXPAND1(...) __VA_ARGS__
#define EACH(one, T, ...) __VA_OPT__(EXPAND(EACH_STEP(one, T, __VA_ARGS__)))
#define EACH_STEP(one, T, first, ...) one(T, first) __VA_OPT__(EACH_AGAIN PARENS(one, T, __VA_ARGS__))
#define EACH_AGAIN() EACH_STEP

#define STRUCT(T, ...) begin_struct<T>(g, #T); EACH(ONE_FIELD, T, __VA_ARGS__)
#define INTERFACE(T, ...) begin_interface<T>(g, #T, T::id); EACH(ONE_METHOD, T, __VA_ARGS__)
#define NAMELESS(T, ...) begin_interface<T>(g, #T, ""); EACH(ONE_METHOD, T, __VA_ARGS__)
#define ENUM(T, ...) begin_enum<T>(g, #T); EACH(ONE_VALUE, T, __VA_ARGS__)

// abi/plain.hpp
void list_plain(Golden& g) {
  STRUCT(Str, p, n);
  STRUCT(Span<int>, p, n);
  STRUCT(Rows<int>, base, n, stride);
  ENUM(Code, ok, invalid, unsupported, out_of_memory, device, comm, timeout, aborted, version, not_found, io, internal,
       not_ready);
  ENUM(Kind, model, device, comm, sync, dataset);
  ENUM(DType, f32, f16, bf16, u8, i32, i64);
  ENUM(Mem, host, pinned, device);
  STRUCT(Stream, h);
  STRUCT(Event, h);
  STRUCT(Buffer, ptr, bytes, cookie, device, mem);
  ENUM(OptionType, boolean, integer, real, text, integers, reals, texts);
  STRUCT(Option, key, type, pad, i, f, s, li, lf, ls);
  STRUCT(Options, struct_size, pad, items, table);
}

// abi/object.hpp
void list_object(Golden& g) {
  NAMELESS(IObject, query, destroy);
  INTERFACE(IHost, log, fail, fail_async, abi_minor);
  INTERFACE(IWorkers, size, parallel);
  STRUCT(ProbeResult, struct_size, score, n_devices, pad, reason);
  NAMELESS(IFactory, kind, name, probe, options_schema, create);
  STRUCT(PluginTable, struct_size, abi_minor, factories, shutdown);
}

// abi/graph.hpp
void list_graph(Golden& g) {
  ENUM(Op, conv2d, linear, bias_add, batch_norm, batch_norm_infer, relu, max_pool, avg_pool, global_avg_pool, lrn,
       dropout, add, concat, reshape, softmax_xent, weighted_sum, cast, image_normalize, conv2d_dgrad, conv2d_wgrad,
       linear_dgrad, linear_wgrad, bias_grad, batch_norm_grad, relu_grad, max_pool_grad, avg_pool_grad,
       global_avg_pool_grad, lrn_grad, dropout_grad, softmax_xent_grad, slice, add_n, sgd, lars, rmsprop, adamw, ema,
       unscale_check, cast_copy, fill, grads_ready, params_needed);
  ENUM(Role, activation, input, param, grad, state, saved_opaque, scalar, output, frozen);
  ENUM(Phase, forward, backward, update, marker);
  STRUCT(TensorDesc, dim, rank, dtype, role, alias_of, bucket, pad, bucket_offset, name);
  STRUCT(NodeDesc, op, op_version, first_in, n_in, first_out, n_out, phase, scope, attrs, attrs_size, name);
  STRUCT(GraphView, struct_size, opset, tensors, nodes, edges, scopes, hash);
  NAMELESS(IGraphBuilder, input, param, state, frozen, node, scope, shape);
  STRUCT(ModelSpec, struct_size, batch, channels, height, width, classes, dtype, training);
  INTERFACE(IModel, defaults, build);
}

// abi/device.hpp
void list_device(Golden& g) {
  STRUCT(DeviceInfo, struct_size, ordinal, name, uuid, total_bytes, free_bytes, dtypes, mem_kinds, async, tf32);
  INTERFACE(IDevice, info, alloc, free, stream_new, stream_free, event_new, event_free, record, wait, done, sync,
       elapsed_us, copy, fill, native);
  INTERFACE(ICapture, begin, end, replay, drop);
  INTERFACE(IVectorOps, add, scale, cast);
  STRUCT(Support, struct_size, code, reason);
  STRUCT(Binding, v, pad, ptr);
  INTERFACE(IKernels, supports, prepare, launch, release);
  NAMELESS(IStepHooks, grads_ready, params_needed);
  ENUM(Via, fused, kernel, view, refused);
  NAMELESS(INodeReport, note);
  STRUCT(CompileRequest, struct_size, hooks_capturable, deterministic, pad, graph, memory_limit, hooks);
  STRUCT(MemoryReport, struct_size, n_kernels, arena_bytes, workspace_bytes, saved_bytes);
  INTERFACE(IExecutable, memory, describe, bind, refresh, run, value_layout, export_value, import_value);
  INTERFACE(ICompiler, check, compile);
}

// abi/comm.hpp
void list_comm(Golden& g) {
  NAMELESS(IMeet, all_gather);
  STRUCT(CommDesc, struct_size, rank, world, replica, replicas, channel, timeout_ms, pad, device, meet, job);
  STRUCT(CommInfo, struct_size, mem_kinds, stream_ordered, capturable, dtypes, pad, transport);
  INTERFACE(IComm, info, register_buffer, forget_buffer, send, recv, group, barrier, poll, abort);
  INTERFACE(ICollectives, all_reduce, reduce_scatter, all_gather, broadcast);
  INTERFACE(ITransport, connect);
  STRUCT(LaunchInfo, struct_size, process, processes, host_process, host_processes, pad);
  INTERFACE(ILaunch, launch_info, exchange);
}

// abi/sync.hpp
void list_sync(Golden& g) {
  STRUCT(ParamRow, param, grad, bytes, ready_order, pad);
  STRUCT(SyncInputs, struct_size, rank, world, pad, params, comm);
  ENUM(Where, local, sharded, server);
  NAMELESS(IPlan, bucket, update_at, server, channel, live_hooks);
  NAMELESS(IUpdate, run);
  STRUCT(SyncContext, struct_size, pad, device, comm, collectives, update, grad_buckets, param_buckets, channels);
  INTERFACE(ISync, plan, attach, grads_ready, params_needed, step_end, serve);
  STRUCT(StateRow, name, buffer, dtype, pad, count);
  INTERFACE(IState, rows);
}

// abi/dataset.hpp
void list_dataset(Golden& g) {
  ENUM(Split, train, eval);
  STRUCT(DatasetInfo, struct_size, channels, height, width, classes, dtype, train, eval, any_batch, pad, mean, stdev);
  STRUCT(BatchRequest, struct_size, split, augment, pad, seed, epoch, samples);
  STRUCT(BatchSlot, struct_size, filled, images, labels);
  INTERFACE(IDataset, open, read, sample_name);
}

// ops.hpp
void list_ops(Golden& g) {
  STRUCT(ConvAttrs, struct_size, stride, dilation, pad_lo, pad_hi, groups, kernel, input_size, compute);
  STRUCT(BatchNormAttrs, struct_size, pad, eps, momentum);
  STRUCT(PoolAttrs, struct_size, window, stride, pad_lo, pad_hi, ceil_mode, count_include_pad, input_size);
  STRUCT(GlobalPoolAttrs, struct_size, input_size);
  STRUCT(LrnAttrs, struct_size, size, alpha, beta, k);
  STRUCT(DropoutAttrs, struct_size, stream, p);
  STRUCT(ConcatAttrs, struct_size, axis);
  STRUCT(ReshapeAttrs, struct_size, rank, dim);
  STRUCT(SoftmaxXentAttrs, struct_size, pad, label_smoothing);
  STRUCT(WeightedSumAttrs, struct_size, n, weight);
  STRUCT(CastAttrs, struct_size, to);
  STRUCT(ImageNormalizeAttrs, struct_size, mean, stdev);
  STRUCT(SliceAttrs, struct_size, axis, start, length);
  STRUCT(SgdAttrs, struct_size, nesterov, momentum, dampening, weight_decay);
  STRUCT(LarsAttrs, struct_size, pad, momentum, weight_decay, trust, eps);
  STRUCT(RmspropAttrs, struct_size, pad, alpha, eps, momentum, weight_decay);
  STRUCT(AdamwAttrs, struct_size, pad, beta1, beta2, eps, weight_decay);
  STRUCT(EmaAttrs, struct_size, pad, decay);
  STRUCT(UnscaleCheckAttrs, struct_size, pad, clip_norm);
  STRUCT(FillAttrs, struct_size, dtype, rank, pad, dim, value);
  STRUCT(MarkerAttrs, struct_size, bucket);
}

Golden list_all() {
  Golden g;
  g.line("epoch " + std::to_string(CONVOY_ABI_EPOCH) + " minor " + std::to_string(CONVOY_ABI_MINOR) + " opset " + std::to_string(CONVOY_OPSET));
  list_plain(g), list_object(g), list_graph(g), list_device(g), list_comm(g), list_sync(g), list_dataset(g), list_ops(g);
  return g;
}

std::string contents(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All headers of the border, without comments.
std::string headers() {
  std::string all;
  for (const char* name : {"abi/plain", "abi/object", "abi/graph", "abi/device", "abi/comm", "abi/sync", "abi/dataset", "ops"})
    all += contents(std::string(CONVOY_SOURCE_DIR) + "/core/include/convoy/" + name + ".hpp");
  return std::regex_replace(all, std::regex("//[^\n]*"), "");
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex r(pattern);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), r), {}));
}

}  // namespace

TEST_SUITE("binary layout of the border") {
  TEST_CASE("sizes, offsets, values and slots are those of abi_golden.txt") {
    const std::string now = list_all().text.str();
    const std::string golden = contents(std::string(CONVOY_SOURCE_DIR) + "/tests/plugins/abi_golden.txt");
    const std::string written = std::string(CONVOY_BUILD_DIR) + "/abi_golden.txt";
    if (now != golden) std::ofstream(written) << now;
    std::istringstream a(golden), b(now);
    std::string was, is, where;
    while (std::getline(a, was)) {
      if (was[0] != ' ') where = was;
      is.clear();
      std::getline(b, is);
      REQUIRE_MESSAGE(is == was, kHowToChange << "\n  in      " << where << "\n  was     " << was << "\n  is      " << is << "\n  written " << written);
    }
    REQUIRE_MESSAGE(now.size() == golden.size(), kHowToChange << "\n  there is more than before; written " << written);
  }

  TEST_CASE("every type, method and value of the headers is in the list") {
    const Golden g = list_all();
    const std::string text = headers();
    REQUIRE(text.size() > 10000);
    const std::regex definition(R"((?:enum class|struct) (\w+)(?: : \w+)? \{)");
    for (auto m = std::sregex_iterator(text.begin(), text.end(), definition); m != std::sregex_iterator(); ++m)
      CHECK_MESSAGE(g.types.count((*m)[1]) + g.types.count((*m)[1].str() + "<int>") == 1, (*m)[1].str() << " is not listed in this test");
    CHECK(count(text, R"(\bvirtual )") == g.methods);
    CHECK(count(text, R"((?:\{|,)\s*\w+ = \d+)") == g.values);
  }

  TEST_CASE("a buffer, a stream and an event are what hand-written bindings take them for") {
    // Written out by hand, so that the list above is not only compared with itself.
    CHECK(sizeof(Buffer) == 32);
    CHECK(offsetof(Buffer, device) == 24);
    CHECK(sizeof(Stream) == 8);
    CHECK(sizeof(Str) == 16);
    CHECK(slot_of(&IObject::destroy) == 1);
    CHECK(slot_of(&IHost::log) == 2);  // behind query and destroy
    CHECK(slot_of(&IDevice::native) == 16);
  }
}
