// Our own assumptions, checked at run time in every preset but release. For bugs of ours only: what a user, a file or a
// plugin can get wrong is an Error.
#pragma once

#include "error.hpp"

#ifdef CONVOY_ASSERTIONS
#define CONVOY_ASSERT(condition, message)                                                              \
  ((condition) ? static_cast<void>(0)                                                                  \
               : throw ::convoy::Error(::convoy::ErrorKind::bug,                                       \
                                       ::std::string(message) + " (" #condition ", " __FILE__ ")"))
#else
#define CONVOY_ASSERT(condition, message) static_cast<void>(0)
#endif
