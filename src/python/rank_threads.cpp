#include "python/rank_threads.hpp"

#include <chrono>
#include <exception>
#include <system_error>
#include <thread>

namespace kernbench::python {

/// A strand that sleeps until it has the baton.
class RankThreads::Turn : public dist::Strand {
 public:
  explicit Turn(RankThreads& family) : family_(family), number_(PyThread_get_thread_ident()) {}

  void switch_to(dist::Strand& other) override {
    static_cast<Turn&>(other).give();
    await();
  }

 protected:
  struct Quit {};  // unwinds a strand that is destroyed

  void give() {
    {
      const std::lock_guard lock(mutex_);
      has_baton_ = true;
    }
    wake_.notify_one();
  }
  void quit() {
    quits_ = true;
    give();
  }
  void set_number(unsigned long number) { number_ = number; }

  /// The one that called `spawn` looks for Ctrl-C meanwhile, for signals are its to handle.
  void await() {
    constexpr auto kGlance = std::chrono::milliseconds(50);
    std::unique_lock lock(mutex_);
    bool told = false;
    while (!wake_.wait_for(lock, kGlance, [this] { return has_baton_; })) {
      if (!listens() || told || !family_.host_.interrupt()) continue;
      told = true;
      lock.unlock();
      family_.interrupt_running();
      lock.lock();
    }
    has_baton_ = false;
    family_.running_ = number_;
    if (quits_) throw Quit();
  }

 private:
  virtual bool listens() const { return true; }

  RankThreads& family_;
  unsigned long number_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_baton_ = false, quits_ = false;
};

class RankThreads::Thread final : public Turn {
 public:
  /// Ctrl-C must not end the start of a thread half way: CPython raises it in whatever the main thread executes, and what is
  /// sent to the running rank can reach the thread that this rank is just starting. So another thread, to which no interrupt is
  /// sent, starts it.
  Thread(RankThreads& family, std::function<void()> body) : Turn(family), body_(std::move(body)) {
    std::exception_ptr failure;
    std::thread([&] {
      try {
        start();
      } catch (...) {  // whatever leaves this thread would end the process
        failure = std::current_exception();
      }
    }).join();
    if (failure) std::rethrow_exception(failure);
  }
  ~Thread() override {
    quit();
    const py::gil_scoped_acquire gil;
    const bool was_interrupted = join();
    thread_ = py::object();
    if (was_interrupted)
      PyErr_SetInterrupt();  // that was not for us: whoever called `spawn` is to learn of it
  }

 private:
  bool listens() const override { return false; }
  void start() {
    const py::gil_scoped_acquire gil;
    try {
      thread_ = py::module_::import("threading")
                    .attr("Thread")(py::arg("target") = py::cpp_function([this] { live(); }),
                                    py::arg("name") = "kernbench rank", py::arg("daemon") = true);
      thread_.attr("start")();
    } catch (py::error_already_set&) {
      throw std::system_error(EAGAIN, std::generic_category(), "no room for the thread of a rank");
    }
  }
  /// Whether Ctrl-C came meanwhile.
  bool join() {
    for (bool interrupted = false;;) try {
        return thread_.attr("join")(), interrupted;
      } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_KeyboardInterrupt))
          return error.discard_as_unraisable("the end of a rank"), interrupted;
        interrupted = true;
      }
  }
  void live() {
    const py::gil_scoped_release free;
    set_number(PyThread_get_thread_ident());
    try {
      await();
      body_();
    } catch (const Quit&) {
    }
  }

  std::function<void()> body_;
  py::object thread_;
};

std::unique_ptr<dist::Strand> RankThreads::of_caller() { return std::make_unique<Turn>(*this); }

std::unique_ptr<dist::Strand> RankThreads::make(std::function<void()> body) {
  return std::make_unique<Thread>(*this, std::move(body));
}

/// A rank that computes in Python learns of Ctrl-C between two instructions; one in the engine by the engine's flag.
void RankThreads::interrupt_running() {
  const py::gil_scoped_acquire gil;
  PyThreadState_SetAsyncExc(running_, PyExc_KeyboardInterrupt);
}

}  // namespace kernbench::python
