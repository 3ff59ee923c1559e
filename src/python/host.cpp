#include "python/host.hpp"

#include <pybind11/stl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>

#include "kernbench/error.hpp"
#include "python/recording.hpp"
#include "runtime/engine.hpp"

namespace kernbench::python {

// ── Ctrl-C ──

namespace {

std::atomic<std::atomic<bool>*> listening = nullptr;  // signal handlers know nothing but globals
struct sigaction pythons_handler {};

void note_interrupt(int signal) {
  if (std::atomic<bool>* flag = listening) *flag = true;
  if (pythons_handler.sa_handler != SIG_DFL && pythons_handler.sa_handler != SIG_IGN)
    pythons_handler.sa_handler(signal);
}

bool is_main_thread() {
  static thread_local const bool is = ::getpid() == static_cast<pid_t>(::syscall(SYS_gettid));
  return is;
}

}  // namespace

// ── the end of the interpreter ──

namespace {

struct BusyThread {
  pid_t process;  // forked ones have none of our threads
  unsigned long id;
  std::atomic<bool>* flag;
};

/// Lives as long as the process, for threads may sleep in it to the very end.
struct Shutdown {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<BusyThread> threads;  // that are in the engine
  bool has_begun = false;

  static Shutdown& instance() {
    static auto* const end = new Shutdown;
    return *end;
  }
  void remove(unsigned long id) {
    std::erase_if(threads, [id](const BusyThread& t) { return t.id == id; });
    changed.notify_all();
  }
  bool has_none(unsigned long but) {
    return std::ranges::none_of(threads,
                                [&](const BusyThread& t) { return t.process == ::getpid() && t.id != but; });
  }
};

[[noreturn]] void sleep_for_good() {
  for (;;) ::pause();
}

/// Runs when the interpreter is about to end: daemon threads leave the engine. One in a kernel's Python code gets a SystemExit.
void shut_down() {
  constexpr auto kPatience = std::chrono::seconds(10);  // with code that catches SystemExit and goes on
  constexpr auto kGlance = std::chrono::milliseconds(20);
  Shutdown& end = Shutdown::instance();
  const unsigned long own = PyThread_get_thread_ident();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    std::vector<BusyThread> left;
    {
      const std::lock_guard lock(end.mutex);
      end.has_begun = true;
      if (end.has_none(own) || std::chrono::steady_clock::now() > until) return;
      left = end.threads;
      for (const BusyThread& thread : left) *thread.flag = true;
    }
    for (const BusyThread& thread : left)
      if (thread.id != own) PyThreadState_SetAsyncExc(thread.id, PyExc_SystemExit);
    const py::gil_scoped_release free;
    std::unique_lock lock(end.mutex);
    end.changed.wait_for(lock, kGlance, [&] { return end.has_none(own); });
  }
}

thread_local int engines_entered = 0;

}  // namespace

void register_end() { py::module_::import("atexit").attr("register")(py::cpp_function(&shut_down)); }

InEngine::InEngine(std::atomic<bool>& flag) : flag_(flag), outermost_(engines_entered++ == 0) {
  if (!outermost_) return;
  Shutdown& end = Shutdown::instance();
  std::unique_lock lock(end.mutex);
  if (end.has_begun && !is_main_thread()) {
    lock.unlock();
    const py::gil_scoped_release free;
    sleep_for_good();
  }
  end.threads.push_back({::getpid(), PyThread_get_thread_ident(), &flag_});
}

InEngine::~InEngine() {
  --engines_entered;
  if (!outermost_) return;
  Shutdown& end = Shutdown::instance();
  const std::lock_guard lock(end.mutex);
  end.remove(PyThread_get_thread_ident());
}

void InEngine::sleep_if_over() {
  if (!outermost_ || is_main_thread()) return;
  Shutdown& end = Shutdown::instance();
  std::unique_lock lock(end.mutex);
  if (!end.has_begun) return;
  end.remove(PyThread_get_thread_ident());
  lock.unlock();
  sleep_for_good();
}

Listening::Listening(std::atomic<bool>& flag) : listens_(is_main_thread()), in_engine_(flag) {
  if (!listens_) return;
  before_ = listening.exchange(&flag);
  if (before_ != nullptr) return;
  flag = false;
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  ::sigaction(SIGINT, &action, &pythons_handler);
}

Listening::~Listening() {
  in_engine_.sleep_if_over();
  if (!listens_) return;
  if (before_ == nullptr) ::sigaction(SIGINT, &pythons_handler, nullptr);
  listening = before_;
}

void Host::fail_interrupted() {
  *flag_ = false;
  if (!is_main_thread() || PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw py::error_already_set();
}

// ── the context ──

namespace {

TorchOptions listening_to(TorchOptions options, const std::atomic<bool>& interrupt) {
  options.interrupt = &interrupt;
  return options;
}

}  // namespace

Host::Host(const topology::Machine& machine, TorchOptions options)
    : own_(std::make_unique<Torch>(machine, listening_to(std::move(options), interrupt_))),
      torch_(own_.get()) {}

/// Whoever owns it listens for Ctrl-C already, on this thread.
Host::Host(Torch& torch) : torch_(&torch) {
  if (std::atomic<bool>* flag = listening) flag_ = flag;
}

Host::~Host() { abandon(); }

Torch& Host::torch() {
  if (over_)
    throw InputError(
        {"python.context-over", "", "the context is over: its `with` block has ended, or it was closed",
         "use tensors, handles and launches inside the block; arrays from numpy() are yours to keep"});
  return *torch_;
}

Torch& Host::torch_to_look_at() {
  if (!torch_) throw InputError({"python.context-over", "", "the context is gone", "keep the Torch object"});
  return *torch_;
}

void Host::finish() {
  if (over_) return;
  Torch& torch = *torch_;
  struct Over {
    Host& host;
    ~Over() { host.stop(); }
  } const over{*this};
  work([&] { torch.engine().finish(); });
}

/// What is left is not completed when the engine goes.
void Host::stop() noexcept {
  over_ = true;
  for (auto* work : works_) work->reset();
  if (own_) own_->engine().clock().note_interrupt();
}

void Host::abandon() noexcept {
  stop();
  torch_ = nullptr;
  try {
    own_.reset();
  } catch (...) {  // nothing is completed, so nothing can fail; dealloc must not throw whatever happens
  }
  dropped_.clear();
}

namespace {
thread_local Host* works_in = nullptr;
}

Host* Host::current() { return works_in; }

Host::AtWork::AtWork(Host& host) : host_(host), before_(works_in) {
  if (host.at_work_)
    throw InputError({"python.busy", "", "another thread is at work in this context",
                      "one thread at a time uses a context; give each thread its own"});
  host.at_work_ = true;
  works_in = &host;
}

Host::AtWork::~AtWork() {
  works_in = before_;
  host_.at_work_ = false;
  host_.let_go();
}

void Host::drop(Tensor tensor) noexcept {
  if (at_work_) dropped_.push_back(std::move(tensor));
}

void Host::let_go() noexcept {
  while (!dropped_.empty()) {
    Tensor last = std::move(dropped_.back());
    dropped_.pop_back();
  }
}

std::shared_ptr<py::object> hold(py::object object) {
  return {new py::object(std::move(object)), [](py::object* o) {
            const py::gil_scoped_acquire gil;
            delete o;
          }};
}

// ── kernels ──

Call call_of(const py::object& kernel, const py::tuple& args, const py::dict& kwargs, int tl_at) {
  Call call{kernel, py::tuple(args.size()), py::dict(), {}, tl_at};
  const auto converted = [&](py::handle arg) -> py::object {
    if (!py::isinstance<PyTensor>(arg)) return py::reinterpret_borrow<py::object>(arg);
    const PyTensor& tensor = arg.cast<const PyTensor&>();
    call.tensors.push_back(tensor.get());
    return py::cast(tensor.get().ptr());
  };
  for (std::size_t i = 0; i < args.size(); ++i) call.args[i] = converted(args[i]);
  for (const auto& [name, value] : kwargs) call.kwargs[name] = converted(value);
  return call;
}

namespace {

py::tuple with_tl(const py::tuple& args, int at, const py::object& tl) {
  py::tuple all(args.size() + 1);
  const auto place = static_cast<std::size_t>(at);
  for (std::size_t i = 0; i <= args.size(); ++i)
    all[i] = i < place ? py::object(args[i]) : i == place ? tl : py::object(args[i - 1]);
  return all;
}

/// A function that stops in its middle, at a `yield` or an `await`, has recorded nothing when it returns.
void refuse_suspended(const py::object& result, const py::object& kernel) {
  if (!PyGen_Check(result.ptr()) && !PyCoro_CheckExact(result.ptr()) && !PyAsyncGen_CheckExact(result.ptr()))
    return;
  result.attr(PyAsyncGen_CheckExact(result.ptr()) ? "aclose" : "close")();
  const std::string name = py::str(py::getattr(kernel, "__name__", py::str("of a callable")));
  throw py::type_error("kernel " + name + " has a yield or an await: calling it would record nothing");
}

}  // namespace

/// The recording is over when the kernel has returned, whatever it has kept.
void Call::run(tl::Context& context, Host* host) const {
  const auto recording = std::make_shared<Recording>(context, host);
  struct End {
    Recording& recording;
    ~End() { recording.end(); }
  } const end{*recording};
  recording->data_source = data_source;
  const Recording::Running running(recording);
  const py::object tl = py::cast(PyTl{recording});
  if (tl_at >= 0 && static_cast<std::size_t>(tl_at) <= args.size()) {
    refuse_suspended(kernel(*with_tl(args, tl_at, tl), **kwargs), kernel);
  } else {
    py::dict named;
    for (const auto& [name, value] : kwargs) named[name] = value;
    named["tl"] = tl;
    refuse_suspended(kernel(*args, **named), kernel);
  }
}

}  // namespace kernbench::python
