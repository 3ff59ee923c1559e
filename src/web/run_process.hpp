// Work that is done in processes, one at a time, so that it can be ended at any instant, and takes nobody with it if it
// crashes or runs out of memory.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace kernbench::web {

class RunProcess {
 public:
  /// The longest request and message. Longer messages are not sent; longer requests are an InputError (`web.long`).
  static constexpr std::size_t kLongest = 96 << 10;

  /// Sends a message to whoever asked for the work.
  using Say = std::function<void(const std::string& message)>;
  /// What the process does with a request.
  using Work = std::function<void(const std::string& request, const Say& say)>;

  /// Starts a process that waits for requests and copies itself for each of them. No thread may have been started yet,
  /// and the thread that calls this must live as long as the program.
  explicit RunProcess(Work work);
  ~RunProcess();
  RunProcess(const RunProcess&) = delete;
  RunProcess& operator=(const RunProcess&) = delete;

  /// Has a request worked on, and returns when that is over: how its process ended, or nothing if it ended by itself.
  /// `hear` is called with each message, and `stop` several times a second: true ends the process. One call at a time.
  std::string run(const std::string& request, const Say& hear, const std::function<bool()>& stop);
  /// Ends both processes and waits until they are gone, a second at most. Any thread may call it; `run` then returns.
  void end();

 private:
  [[noreturn]] static void serve(int socket, const Work& work);

  int socket_ = -1;
  pid_t server_ = -1;
};

}  // namespace kernbench::web
