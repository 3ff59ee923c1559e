// Sweeps over several machines: the ranks of `mpirun` or `srun`. Rank 0 gives points out and writes, the others run them.
//
// MPI is in a module of its own, which is loaded only where it is wanted, so that nobody else needs MPI.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sweep/workers.hpp"

namespace kernbench::sweep {

/// What the module offers. Messages are texts.
class Mpi {
 public:
  virtual ~Mpi() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void send(int to, const std::string& text) = 0;
  /// The next message and whom it is from; none: nothing has come yet.
  virtual std::optional<std::pair<int, std::string>> try_receive() = 0;
};

/// Whether this process was started as one of several by mpirun or srun.
bool is_under_mpi();
/// InputError (`sweep.mpi`) if KernBench was built without MPI.
std::unique_ptr<Mpi> open_mpi();

/// The other ranks as workers; for rank 0.
std::unique_ptr<Workers> mpi_workers(Mpi& mpi);
/// Runs what rank 0 gives out until it is done; for the others.
void serve(Mpi& mpi, const Work& work);

}  // namespace kernbench::sweep

/// What the module exports.
extern "C" kernbench::sweep::Mpi* kernbench_open_mpi();
