// The plugin border: everything a plugin and the core say to each other, in one include.
// This header and the parts under abi/ are the only ones whose binary layout is promised. It is not where
// plugins are written (that is sdk/*.hpp, ordinary C++ on top of this).
//
// The rules of the border, which keep it the same for every compiler, standard library and flag:
//   * C++17 subset; plain standard-layout data and pure virtual interfaces only;
//   * no std:: types, exceptions, RTTI, overloads, default arguments or virtual destructors cross it;
//   * every method is noexcept and says how it went by a Code; a Code other than ok follows IHost::fail();
//   * structs that may grow begin with struct_size and are never embedded by value; arrays of structs that
//     may grow are Rows, indexed by stride;
//   * strings and spans are borrowed for the call, unless a comment says otherwise;
//   * from version 1.0 on a published interface never changes: an addition is a new interface with a new id.
//
// Who calls on which thread:
//   entry, factories, probe, create, plan, compile, destroy   main thread, one call at a time
//   connect, attach, bind, run, hooks inside them             that replica's driver thread, all replicas at once
//   IDevice                                                   any thread; one stream from one thread at a time
//   IComm                                                     one thread per communicator; abort() from any
//   ISync::serve                                              a thread of its own
//   IDataset::read                                            several loader threads at once
//
// Objects that create, connect and compile hand out belong to the core, which calls destroy() exactly once,
// in reverse order of creation. A plugin joins its threads in destroy(), and never installs signal handlers,
// forks, changes the environment or the locale, or exits. Plugin libraries are never unloaded.
#pragma once

#include "abi/plain.hpp"
#include "abi/object.hpp"
#include "abi/graph.hpp"
#include "abi/device.hpp"
#include "abi/comm.hpp"
#include "abi/sync.hpp"
#include "abi/dataset.hpp"
