#include "core/blame/report_crash.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>

#include "core/blame/trial.h"

namespace tenon::blame {

struct SharedOutcome::Cell {
  Outcome outcome;
  std::uint32_t step = 0;
  bool second = false, started = false;
  std::uintptr_t address = 0;
};

namespace {

SharedOutcome::Cell* cell_of_this_process = nullptr;  // of a child: handlers have no argument

bool was_writing(const void* context) {
#if defined(__x86_64__)
  constexpr std::uint64_t write_bit = 2;  // of the page fault's error code
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit;
#else
  (void)context;
  return false;
#endif
}

extern "C" void on_crash_of_child(int signal, siginfo_t* info, void* context) {
  SharedOutcome::Cell& c = *cell_of_this_process;
  c.outcome = {.kind = Outcome::Kind::crashed,
               .step = c.step,
               .signal = signal,
               .writing = signal == SIGSEGV && was_writing(context),
               .second = c.second};
  c.address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  _exit(1);
}

}  // namespace

void SharedOutcome::Unmap::operator()(Cell* c) const { munmap(c, sizeof *c); }

Result<SharedOutcome> SharedOutcome::make() {
  void* p = mmap(nullptr, sizeof(Cell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return Diag{.code = 8107, .what = "no memory for a page", .fix = "free memory"};
  SharedOutcome out;
  out.cell_.reset(new (p) Cell);
  return out;
}

Outcome SharedOutcome::get() const { return cell_->outcome; }
void SharedOutcome::set(const Outcome& o) {
  cell_->outcome = o;
  if (o.kind == Outcome::Kind::agrees) cell_->started = false;
}
void SharedOutcome::at(std::uint32_t step, bool second) {
  cell_->step = step;
  cell_->second = second;
  cell_->started = true;
}
bool SharedOutcome::started() const { return cell_->started; }
std::uintptr_t SharedOutcome::address() const { return cell_->address; }

void report_crashes(SharedOutcome& outcome) {
  static char stack[64 * 1024];  // kernels may have used up the other one
  const stack_t other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&other, nullptr);
  cell_of_this_process = outcome.cell_.get();
  struct sigaction action {};
  action.sa_sigaction = on_crash_of_child;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
}

}  // namespace tenon::blame
