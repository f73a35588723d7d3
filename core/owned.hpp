// Ownership of objects that plugins hand out: destroy() once, by whoever holds the Owned.
#pragma once

#include <convoy/abi.hpp>

#include <memory>

namespace convoy {

struct Destroy {
  void operator()(IObject* o) const noexcept { o->destroy(); }
};

/// Like unique_ptr, ending in destroy(). The interface pointer must be the object's IObject.
template <class T>
using Owned = std::unique_ptr<T, Destroy>;

}  // namespace convoy
