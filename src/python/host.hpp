// What stands behind a context in Python, and the rules of who may touch it.
//
// The engine belongs to whoever holds the GIL and finds it at rest. While it works the GIL is free: other threads run, but
// a call on this context is refused, and a tensor that they drop waits until the engine rests. Ctrl-C stops the engine
// between two events; then Python's own handler runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernbench/distributed.hpp"
#include "kernbench/torch.hpp"
#include "python/convert.hpp"

namespace kernbench::python {

/// A thread that is in the engine, for as long as it lives.
///
/// Python ends a daemon thread when it next wants the GIL after the interpreter began to end, by unwinding its stack, which
/// C++ functions do not survive. So before that happens every such thread is stopped by its flag and sleeps from then on.
class InEngine {
 public:
  explicit InEngine(std::atomic<bool>& flag);
  ~InEngine();
  InEngine(const InEngine&) = delete;
  InEngine& operator=(const InEngine&) = delete;
  /// To be called without the GIL before it is taken again: does not return once the interpreter ends.
  void sleep_if_over();

 private:
  std::atomic<bool>& flag_;
  bool outermost_;
};
/// To be called once: Python's exit waits until no daemon thread is in the engine.
void register_end();

/// The GIL is free while it lives. Ctrl-C sets the flag then, if this is the main thread, and Python's handler notes it.
class Listening {
 public:
  explicit Listening(std::atomic<bool>& flag);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  bool listens_;
  std::atomic<bool>* before_ = nullptr;
  InEngine in_engine_;
  py::gil_scoped_release free_;
};

/// Queues that plain launches of a context have.
struct PlainWiring {
  std::string topology, mapper, group;
  int world_size = 0;               // of group `pe`; 0: as many as there are
  std::vector<std::string> rules;   // overrides of ccl.yaml: defaults.n_slots=8
  std::vector<PeCoord> ranks = {};  // on these PEs; empty: those of the mapper
  std::optional<ccl::Links> links = {};
};

class Host : public std::enable_shared_from_this<Host> {
 public:
  Host(const topology::Machine& machine, TorchOptions options);
  /// Over a context of somebody else's, until `stop`.
  explicit Host(Torch& torch);
  ~Host();

  /// InputError once the context is over.
  Torch& torch();
  /// The same for looking back: traces and log outlive the context's end.
  Torch& torch_to_look_at();
  bool is_over() const { return over_; }
  /// Completes everything; the context is over then, whatever happens.
  void finish();
  /// The context is over without completing anything.
  void stop() noexcept;
  /// The same, and there is nothing left to look at.
  void abandon() noexcept;

  /// Runs `fn()` with the GIL free. What stops it by Ctrl-C is a KeyboardInterrupt.
  template <class Fn>
  auto work(Fn fn) {
    const AtWork now(*this);
    try {
      const Listening free(*flag_);
      return fn();
    } catch (const runtime::Interrupted&) {
      fail_interrupted();
    }
  }
  /// Inside `work`: calls back into Python. The engine rests meanwhile.
  template <class Fn>
  auto call_python(Fn fn) {
    const py::gil_scoped_acquire gil;
    at_work_ = false;
    struct Again {
      Host& host;
      ~Again() { host.at_work_ = true; }
    } const again{*this};
    return fn();
  }
  /// The one that this thread works in; null: none.
  static Host* current();
  /// What has been dropped elsewhere goes now, or when the engine rests.
  void drop(Tensor tensor) noexcept;

  std::optional<PlainWiring> plain_wiring;

  const std::atomic<bool>& interrupt() const { return *flag_; }
  void keep(std::optional<dist::Work>* work) { works_.insert(work); }
  void forget(std::optional<dist::Work>* work) { works_.erase(work); }
  bool at_work() const { return at_work_; }
  void set_at_work(bool yes) { at_work_ = yes; }

 private:
  class AtWork {
   public:
    explicit AtWork(Host& host);
    ~AtWork();
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

   private:
    Host& host_;
    Host* const before_;
  };
  [[noreturn]] void fail_interrupted();
  void let_go() noexcept;

  std::unique_ptr<Torch> own_;  // null: somebody else's
  Torch* torch_ = nullptr;      // null: gone
  std::atomic<bool> interrupt_ = false;
  std::atomic<bool>* flag_ = &interrupt_;  // that stops the engine
  std::atomic<bool> at_work_ = false;
  bool over_ = false;
  std::vector<Tensor> dropped_;
  std::set<std::optional<dist::Work>*> works_;
};
using HostPtr = std::shared_ptr<Host>;

/// Python code that the engine calls, whether a context of ours stands behind it or not.
template <class Fn>
void call_from_engine(Fn fn) {
  if (Host* const host = Host::current(); host != nullptr && host->at_work())
    return host->call_python([&] { fn(host); });
  const py::gil_scoped_acquire gil;
  fn(nullptr);
}
/// An object that is let go with the GIL, whoever lets go of it.
std::shared_ptr<py::object> hold(py::object object);

/// A tensor on the machine.
struct PyTensor {
  HostPtr host;
  Tensor tensor;
  std::shared_ptr<const NdArray> left;  // what it held when it was freed

  PyTensor(HostPtr h, Tensor t) : host(std::move(h)), tensor(std::move(t)) {}
  PyTensor(PyTensor&&) = default;
  PyTensor(const PyTensor&) = default;
  PyTensor& operator=(const PyTensor&) = default;
  ~PyTensor() {
    if (host && tensor) host->drop(std::move(tensor));
  }
  /// InputError once its context is over.
  const Tensor& get() const { return host->torch(), tensor; }
  Tensor& get() { return host->torch(), tensor; }
};

/// A request to wait for. The context owns it.
struct PyHandle {
  HostPtr host;
  std::weak_ptr<runtime::Request> request;

  PyHandle(HostPtr h, const Handle& handle) : host(std::move(h)), request(handle.request()) {}
  Handle get() const { return host->torch(), Handle(request.lock()); }
};

struct PyTorch {
  HostPtr host;

  explicit PyTorch(HostPtr h) : host(std::move(h)) {}
  PyTorch(PyTorch&&) = default;
  PyTorch& operator=(PyTorch&&) = delete;
  ~PyTorch() {
    if (host) host->abandon();
  }
};

/// A kernel with its arguments: tensors among them become pointers. `tl` stands where the kernel has it.
struct Call {
  py::object kernel;
  py::tuple args;
  py::dict kwargs;
  std::vector<Tensor> tensors;
  int tl_at = -1;                       // among the positional arguments; −1: by keyword
  py::object data_source = py::none();  // Recording::data_source

  /// Records it. `host` is where it was launched, or null.
  void run(tl::Context& context, Host* host) const;
};
/// A launch that has the queues of a wiring.
Handle launch_wired(Torch& torch, const PlainWiring& wiring, const LaunchOptions& options,
                    const std::vector<Tensor>& tensors, const std::function<void(tl::Context&)>& body);
std::optional<Grid> grid_of(py::handle value);
Call call_of(const py::object& kernel, const py::tuple& args, const py::dict& kwargs, int tl_at);

/// What a Python function raised. `what()` is its class and text; where it was raised, its traceback says.
class Raised : public py::error_already_set {
 public:
  explicit Raised(const py::error_already_set& error);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

void bind_address(py::module_& m);
void bind_machine(py::module_& m);
void bind_placement(py::module_& m);
void bind_tensor(py::module_& m);
void bind_context(py::module_& m);
void bind_trace(py::module_& m);
void bind_prototype(py::module_& m);
void bind_bench(py::module_& m);
void bind_log(py::module_& m);
void bind_energy(py::module_& m);
void bind_dist(py::module_& m);
void bind_errors(py::module_& m);
/// The Python exception for what C++ threw.
py::object to_python(const std::exception_ptr& thrown);

}  // namespace kernbench::python
