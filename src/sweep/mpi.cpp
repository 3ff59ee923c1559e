#include "sweep/mpi.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "kernbench/error.hpp"

namespace kernbench::sweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "libkernbench_mpi.so";
constexpr useconds_t kPause =
    200;  // between two looks for a message: a rank that waits leaves its core to others
constexpr const char* kEnd = "end";

int number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

/// Beside this program in a build folder, or where it is installed.
void* load_module() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {".", "../lib", "../lib/kernbench"})
    if (void* module = ::dlopen((here / place / kModule).c_str(), RTLD_NOW | RTLD_GLOBAL)) return module;
  return nullptr;
}

class MpiWorkers final : public Workers {
 public:
  explicit MpiWorkers(Mpi& mpi) : mpi_(mpi) {}
  ~MpiWorkers() override {
    for (int rank = 1; rank < mpi_.size(); ++rank) mpi_.send(rank, kEnd);
  }
  int count() const override { return mpi_.size() - 1; }
  void give(int worker, std::size_t point) override { mpi_.send(worker + 1, std::to_string(point)); }
  std::optional<Done> wait(const std::atomic<bool>* interrupt) override {
    while (interrupt == nullptr || !*interrupt) {
      if (auto message = mpi_.try_receive())
        return Done{.worker = message->first - 1, .line = std::move(message->second), .how = {}};
      ::usleep(kPause);
    }
    return {};
  }

 private:
  Mpi& mpi_;
};

}  // namespace

bool is_under_mpi() {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"})
    if (number_in_environment(size) > 1) return true;
  return false;
}

std::unique_ptr<Mpi> open_mpi() {
  void* module = load_module();
  if (module == nullptr)
    throw InputError(
        {"sweep.mpi", "",
         "this is one of several processes of mpirun or srun, but KernBench was built without MPI",
         "install libopenmpi-dev and build again, or run one process with --jobs"});
  const auto open = reinterpret_cast<Mpi* (*)()>(::dlsym(module, "kernbench_open_mpi"));
  KB_ASSERT(open != nullptr, "{} has no kernbench_open_mpi", kModule);
  return std::unique_ptr<Mpi>(open());
}

std::unique_ptr<Workers> mpi_workers(Mpi& mpi) { return std::make_unique<MpiWorkers>(mpi); }

void serve(Mpi& mpi, const Work& work) {
  while (true) {
    const auto message = mpi.try_receive();
    if (!message) {
      ::usleep(kPause);
      continue;
    }
    if (message->second == kEnd) return;
    mpi.send(0, work(std::stoul(message->second)));
  }
}

}  // namespace kernbench::sweep
