// What stands behind `tl` and the tiles of one kernel run. The context goes when the run is over; what Python still holds
// then says so instead of reaching into nothing.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "python/convert.hpp"

namespace kernbench::python {

class Host;

class Recording {
 public:
  /// A context made alone, for as long as anybody holds it.
  explicit Recording(tl::Environment environment);
  /// The context of a launch, until `end`.
  Recording(tl::Context& context, Host* host) : context_(&context), host_(host) {}

  /// KernelError if the kernel run is over. Calls on it count as made at the Python line that runs now.
  tl::Context& at_line() {
    mark_line();
    return context("tl");
  }
  /// The same without a line; `what` is for the message.
  tl::Context& context(const char* what) {
    if (context_ == nullptr) [[unlikely]]
      fail_over(what);
    return *context_;
  }
  /// From now on calls count as made at this line; an empty file: at the Python line that runs, again.
  void pin_line(const std::string& file, std::uint32_t line);
  /// A context made alone that knows no tensors, and has recorded nothing: these are its arguments.
  void know_shards(std::vector<tl::Shard> shards);
  /// Where the kernel was launched; null: nowhere.
  Host* host() const { return host_; }
  bool is_over() const { return context_ == nullptr; }
  void end() { context_ = nullptr; }
  /// The one that a kernel of this thread records with; null: none does.
  static std::shared_ptr<Recording> current();
  /// Where the numbers of tiles come from while the kernel is recorded: `source(value id)` gives an array, or raises.
  /// None: nowhere.
  py::object data_source = py::none();
  /// Makes one the current one for as long as it lives.
  class Running {
   public:
    explicit Running(std::weak_ptr<Recording> recording);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::weak_ptr<Recording> before_;
  };
  /// The same from now on, for contexts made alone.
  static void begin(std::weak_ptr<Recording> recording);

 private:
  struct Code {
    py::object code;  // kept, so that its address stays its own
    const char* file;
    std::unordered_map<int, std::uint32_t> lines;  // by instruction
  };
  void mark_line() {
    if (!pinned_) mark_running_line();
  }
  void mark_running_line();
  Code& code_of(PyObject* code);
  [[noreturn]] static void fail_over(const char* what);

  std::unique_ptr<tl::Context> own_;
  tl::Context* context_ = nullptr;
  Host* host_ = nullptr;
  std::unordered_map<PyObject*, Code> codes_;
  Code* last_ = nullptr;
  bool pinned_ = false;
};
using RecordingPtr = std::shared_ptr<Recording>;

/// `tl`
struct PyTl {
  RecordingPtr recording;
};

struct PyTile {
  RecordingPtr recording;
  tl::Tile tile;

  const tl::Tile& get() const { return recording->context("a tile"), tile; }
};

/// A tile by its address, as programs make it: what lies there.
struct PyTensorHandle {
  std::string id;
  std::uint64_t addr;
  Shape shape;
  DType dtype;
  std::int64_t nbytes;
  py::object data;
  std::string space;
};

/// A command that can be waited for.
struct PyOp {
  RecordingPtr recording;
  tl::Op op;
};

/// A tile whose message may still have to come.
struct PyPending : PyTile {};

struct PyShard {
  RecordingPtr recording;
  tl::Shard shard;

  const tl::Shard& get() const { return recording->context("a shard"), shard; }
};

/// What lies at the address of a handle: loaded by the kernel that runs.
PyTile loaded(const PyTensorHandle& handle);
/// A tile or a number; TypeError if it is neither.
tl::Operand operand_of(py::handle value);
/// One slice per axis, and the axes that `None` puts in.
struct Index {
  std::vector<tl::Slice> slices;
  std::vector<int> new_axes;  // in the result, ascending
};
Index index_of(py::handle value, int rank);

void bind_tile(py::module_& m);
void bind_tl(py::module_& m);
/// Transfers whose lanes lie anywhere, for `kernbench.triton`.
void bind_lanes(py::class_<PyTl>& c);
void bind_byte_owners(py::module_& m);
void bind_arrangements(py::class_<PyTl>& c);
void bind_commands(py::module_& m);
py::list commands_of(const tl::Context& context);

}  // namespace kernbench::python
