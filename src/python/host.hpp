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
#include <vector>

#include "kernbench/distributed.hpp"
#include "kernbench/torch.hpp"
#include "python/convert.hpp"

namespace kernbench::python {

class Host : public std::enable_shared_from_this<Host> {
 public:
  Host(const topology::Machine& machine, TorchOptions options);
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
      const Free free(*this);
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
  /// What has been dropped elsewhere goes now, or when the engine rests.
  void drop(Tensor tensor) noexcept;

  const std::atomic<bool>& interrupt() const { return interrupt_; }
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
  };
  /// Ctrl-C sets the flag of the context that the main thread works in.
  class Free {
   public:
    explicit Free(Host& host);
    ~Free();
    Free(const Free&) = delete;
    Free& operator=(const Free&) = delete;

   private:
    bool listens_;
    std::atomic<bool>* before_ = nullptr;
    py::gil_scoped_release free_;
  };
  [[noreturn]] void fail_interrupted();
  void let_go() noexcept;

  std::unique_ptr<Torch> torch_;
  std::atomic<bool> interrupt_ = false;
  std::atomic<bool> at_work_ = false;
  bool over_ = false;
  std::vector<Tensor> dropped_;
  std::set<std::optional<dist::Work>*> works_;
};
using HostPtr = std::shared_ptr<Host>;

/// A tensor on the machine.
struct PyTensor {
  HostPtr host;
  Tensor tensor;

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
  int tl_at = -1;  // among the positional arguments; −1: by keyword

  /// Records it. `host` is where it was launched, or null.
  void run(tl::Context& context, Host* host) const;
};
Call call_of(const py::object& kernel, const py::tuple& args, const py::dict& kwargs, int tl_at);

void bind_machine(py::module_& m);
void bind_placement(py::module_& m);
void bind_tensor(py::module_& m);
void bind_context(py::module_& m);
void bind_trace(py::module_& m);
void bind_errors(py::module_& m);
/// The Python exception for what C++ threw.
py::object to_python(const std::exception_ptr& thrown);

}  // namespace kernbench::python
