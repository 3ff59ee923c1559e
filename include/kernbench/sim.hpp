// The discrete-event kernel: clocks, events, processes, building blocks. It knows nothing of accelerators.
//
//   Simulation sim(partitions, lookahead);          simulation.hpp  owns partitions; runs them, on threads if asked
//   Partition& here = sim.partition(0);             partition.hpp   a clock: now, schedule, cancel, post, spawn, stop
//   MemberEvent<&Timer::expire> expire{timer};      event.hpp       plain handlers on intrusive events
//   here.spawn(router(in, out));                    process.hpp     coroutines: Process, Task<T>, co_await delay(5_ns)
//   Fifo<Packet> in(here, 16);                      blocks.hpp      Fifo, Server, Link, Signal, Resource
//
// Time is in whole picoseconds. The order of events is total and reproducible: by time; at one instant
// letters from other partitions first, by (source, sequence), then own events as they were scheduled. Nothing
// allocates per event. There is no global state: components get a reference to their partition. docs/sim.md
// is the tour.
#pragma once

#include <kernbench/sim/blocks.hpp>
#include <kernbench/sim/event.hpp>
#include <kernbench/sim/event_queue.hpp>
#include <kernbench/sim/partition.hpp>
#include <kernbench/sim/process.hpp>
#include <kernbench/sim/simulation.hpp>
