#include "dist/fiber.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "kernbench/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace kernbench::dist {
namespace {

/// As much as threads have; pages take memory when they are used.
constexpr std::size_t kStackBytes = std::size_t{8} << 20;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category(), "no room for the stack of a rank, 8 MiB");
}

/// Below it a page that nobody may touch. No huge pages: a rank needs a few kilobytes.
std::byte* map_stack() {
  void* const at = ::mmap(nullptr, page_bytes() + kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) fail();
  ::madvise(at, page_bytes() + kStackBytes, MADV_NOHUGEPAGE);
  if (::mprotect(at, page_bytes(), PROT_NONE) != 0) {
    ::munmap(at, page_bytes() + kStackBytes);
    fail();
  }
  return static_cast<std::byte*>(at);
}

thread_local Fiber* entered = nullptr;  // the one that was switched to last

}  // namespace

Fiber::Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  KB_ASSERT(::pthread_getattr_np(::pthread_self(), &attributes) == 0, "a thread without a stack");
  void* bottom = nullptr;
  ::pthread_attr_getstack(&attributes, &bottom, &context_.uc_stack.ss_size);
  ::pthread_attr_destroy(&attributes);
  context_.uc_stack.ss_sp = bottom;
#elif defined(__SANITIZE_THREAD__)
  sanitizer_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), mapping_(map_stack()) {
  ::getcontext(&context_);
  context_.uc_stack.ss_sp = mapping_ + page_bytes();
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  ::makecontext(&context_, &Fiber::enter, 0);
#if defined(__SANITIZE_ADDRESS__)  // what was there before may have left its marks
  __asan_unpoison_memory_region(context_.uc_stack.ss_sp, kStackBytes);
#elif defined(__SANITIZE_THREAD__)
  sanitizer_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(sanitizer_);
#endif
  ::munmap(mapping_, page_bytes() + kStackBytes);
}

void Fiber::enter() {
  entered->arrive();
  entered->body_();
  KB_ASSERT(false, "the body of a fiber has returned");
}

void Fiber::switch_to(Strand& to) {
  Fiber& other = static_cast<Fiber&>(to);
  take_exceptions_over_to(other);
  entered = &other;
  leave_for(other);
  KB_ASSERT(::swapcontext(&context_, &other.context_) == 0, "a fiber cannot be switched to");
  arrive();
}

/// The first two members of the runtime's record are what the C++ ABI says they are.
void Fiber::take_exceptions_over_to(const Fiber& other) {
  void* const current = abi::__cxa_get_globals();
  std::memcpy(&exceptions_, current, sizeof exceptions_);
  std::memcpy(current, &other.exceptions_, sizeof exceptions_);
}

// ── what sanitizers are to know ──

void Fiber::leave_for([[maybe_unused]] Fiber& other) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&sanitizer_, other.context_.uc_stack.ss_sp, other.context_.uc_stack.ss_size);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(other.sanitizer_, 0);
#endif
}

void Fiber::arrive() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(sanitizer_, nullptr, nullptr);
#endif
}

}  // namespace kernbench::dist
