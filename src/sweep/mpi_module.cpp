// The only file that knows MPI; built as a module of its own where MPI is there.
#include <mpi.h>

#include "sweep/mpi.hpp"

namespace {

class OpenedMpi final : public kernbench::sweep::Mpi {
 public:
  OpenedMpi() { MPI_Init(nullptr, nullptr); }
  ~OpenedMpi() override { MPI_Finalize(); }

  int rank() const override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  int size() const override {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }
  void send(int to, const std::string& text) override {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, 0, MPI_COMM_WORLD);
  }
  std::optional<std::pair<int, std::string>> try_receive() override {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return {};
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    std::string text(static_cast<std::size_t>(size), '\0');
    MPI_Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return std::pair(status.MPI_SOURCE, std::move(text));
  }
};

}  // namespace

extern "C" kernbench::sweep::Mpi* kernbench_open_mpi() { return new OpenedMpi; }
