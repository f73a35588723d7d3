// What every plugin author uses first: errors and guards, text, options, and CONVOY_PLUGIN.
// Header-only, compiled into each side and hidden; nothing here crosses the border.
#pragma once

#include <convoy/abi.hpp>

#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convoy::sdk {

// ---- text ---------------------------------------------------------------------------------------------------

inline Str str(const std::string& s) { return {s.data(), s.size()}; }
inline Str str(const char* s) { return {s, std::strlen(s)}; }
inline std::string text(Str s) { return s.n == 0 ? std::string() : std::string(s.p, s.n); }

/// Copies into a fixed, terminated field, cut to fit.
template <std::size_t N>
void copy_text(char (&out)[N], const std::string& s) {
  const std::size_t n = s.size() < N - 1 ? s.size() : N - 1;
  std::memcpy(out, s.data(), n);
  out[n] = '\0';
}

template <class T>
Span<const T> span(const std::vector<T>& v) {
  return {v.data(), v.size()};
}

/// A zeroed struct of the border with its size filled in.
template <class T>
T sized() {
  T out{};
  out.struct_size = sizeof(T);
  return out;
}

// ---- errors -------------------------------------------------------------------------------------------------

/// Thrown inside a plugin (or by check()); guard() turns it into its code. Never crosses the border.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

/// This library's host, set by the entry point.
inline IHost*& host_slot() {
  static IHost* host = nullptr;
  return host;
}
inline IHost& host() { return *host_slot(); }

/// Runs `body` and turns what it throws into a code, with the message left at the host. Every method of the
/// border that can fail is `return guard("Class::method", [&] { ... });`
template <class F>
Code guard(const char* where, F&& body) noexcept {
  try {
    body();
    return Code::ok;
  } catch (const Error& e) {
    return host().fail(e.code(), str(where), str(e.what()));
  } catch (const std::bad_alloc&) {
    return host().fail(Code::out_of_memory, str(where), str("out of host memory"));
  } catch (const std::exception& e) {
    return host().fail(Code::internal, str(where), str(e.what()));
  } catch (...) {
    return host().fail(Code::internal, str(where), str("unknown exception"));
  }
}

/// Throws where a call over the border failed. The callee's own message is already at the host.
inline void check(Code c, const char* what) {
  if (c != Code::ok) throw Error(c, what);
}

// ---- options ------------------------------------------------------------------------------------------------

inline const Option* find(const Options& o, const char* key) {
  for (uint32_t i = 0; i < o.items.n; ++i)
    if (text(o.items[i].key) == key) return &o.items[i];
  return nullptr;
}

inline int64_t get(const Options& o, const char* key, int64_t otherwise) {
  const Option* f = find(o, key);
  return f == nullptr ? otherwise : f->i;
}
inline int64_t get(const Options& o, const char* key, int otherwise) {
  return get(o, key, static_cast<int64_t>(otherwise));
}
inline bool get(const Options& o, const char* key, bool otherwise) {
  const Option* f = find(o, key);
  return f == nullptr ? otherwise : f->i != 0;
}
inline double get(const Options& o, const char* key, double otherwise) {
  const Option* f = find(o, key);
  return f == nullptr ? otherwise : f->f;
}
inline std::string get(const Options& o, const char* key, const char* otherwise) {
  const Option* f = find(o, key);
  return f == nullptr ? otherwise : text(f->s);
}
inline std::vector<std::string> get_texts(const Options& o, const char* key) {
  std::vector<std::string> out;
  if (const Option* f = find(o, key))
    for (uint64_t i = 0; i < f->ls.n; ++i) out.push_back(text(f->ls.p[i]));
  return out;
}

inline std::vector<double> get_reals(const Options& o, const char* key) {
  const Option* f = find(o, key);
  return f == nullptr || f->lf.n == 0 ? std::vector<double>() : std::vector<double>(f->lf.p, f->lf.p + f->lf.n);
}

// ---- objects ------------------------------------------------------------------------------------------------

/// Implements query() and destroy() for a class that offers one interface: `class X : public Object<IModel>`.
/// A class with more facets overrides query() and calls this one last.
template <class Interface>
class Object : public Interface {
 public:
  void* query(const char* id) noexcept override {
    return std::strcmp(id, Interface::id) == 0 ? static_cast<Interface*>(this) : nullptr;
  }
  void destroy() noexcept override { delete this; }
  virtual ~Object() = default;
};

/// A factory for class T with T(const Options&), `static constexpr const char* schema`, and optionally
/// `static void probe(ProbeResult&)`; absent: usable, any number of devices.
template <class T, class Interface>
class Factory final : public IFactory {
 public:
  Factory(Kind kind, const char* name) : kind_(kind), name_(name) {}
  void* query(const char*) noexcept override { return nullptr; }
  void destroy() noexcept override {}
  Kind kind() noexcept override { return kind_; }
  Str name() noexcept override { return str(name_); }
  Str options_schema() noexcept override { return str(T::schema); }
  Code probe(ProbeResult* out) noexcept override {
    return guard("probe", [&] {
      out->score = 1;
      out->n_devices = 0;
      out->reason[0] = '\0';
      call_probe<T>(*out, 0);
    });
  }
  Code create(const Options& o, IObject** out) noexcept override {
    return guard("create", [&] { *out = static_cast<Interface*>(new T(o)); });
  }

 private:
  template <class U>
  static auto call_probe(ProbeResult& r, int) -> decltype(U::probe(r), void()) {
    U::probe(r);
  }
  template <class U>
  static void call_probe(ProbeResult&, long) {}

  Kind kind_;
  const char* name_;
};

/// Interface that a factory of each kind must create.
template <Kind K>
struct InterfaceOf;
#define CONVOY_SDK_INTERFACE(kind_name, type)   \
  template <>                                   \
  struct InterfaceOf<Kind::kind_name> {         \
    using Type = type;                          \
  }
CONVOY_SDK_INTERFACE(model, IModel);
CONVOY_SDK_INTERFACE(device, IDevice);
CONVOY_SDK_INTERFACE(comm, ITransport);
CONVOY_SDK_INTERFACE(sync, ISync);
CONVOY_SDK_INTERFACE(dataset, IDataset);
#undef CONVOY_SDK_INTERFACE

inline Code fill_table(IHost* host, PluginTable* out, Span<IFactory* const> factories) {
  host_slot() = host;
  out->struct_size = sizeof(PluginTable);
  out->abi_minor = CONVOY_TARGET_MINOR;
  out->factories = factories;
  out->shutdown = nullptr;
  return Code::ok;
}

}  // namespace convoy::sdk

#define CONVOY_EXPORT extern "C" __attribute__((visibility("default")))

/// One provided plugin, inside CONVOY_PLUGINS: CONVOY_PROVIDE(model, ToyNet, "toynet").
#define CONVOY_PROVIDE(kind, Class, name)                                                              \
  new ::convoy::sdk::Factory<Class, ::convoy::sdk::InterfaceOf<::convoy::Kind::kind>::Type>(           \
      ::convoy::Kind::kind, name)

/// Defines the entry point of a library that provides several plugins. Once per library. The factories are
/// never freed: the library stays loaded until the process ends.
#define CONVOY_PLUGINS(...)                                                                            \
  CONVOY_EXPORT ::convoy::Code convoy_plugin_entry_1(::convoy::IHost* host,                            \
                                                     ::convoy::PluginTable* out) {                     \
    static ::convoy::IFactory* const factories[] = {__VA_ARGS__};                                      \
    return ::convoy::sdk::fill_table(host, out, {factories, sizeof(factories) / sizeof(*factories)});  \
  }

/// Defines the entry point of a library that provides one plugin.
#define CONVOY_PLUGIN(kind, Class, name) CONVOY_PLUGINS(CONVOY_PROVIDE(kind, Class, name))
