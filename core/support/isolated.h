// Runs a function in a child process: whatever it does to itself is a text here.
#ifndef TENON_CORE_SUPPORT_ISOLATED_H
#define TENON_CORE_SUPPORT_ISOLATED_H

#include <chrono>
#include <functional>
#include <string>

namespace tenon {

struct ChildResult {
  bool returned = false;  ///< `text` is what the body returned; else why it did not
  std::string text;
};

/// Forks (call it from a process with one thread), runs `body` in the child, and gives what it
/// returned; or "crashed: SIGSEGV", or "did not return within 20 s", after which the child is gone.
ChildResult run_isolated(std::chrono::seconds limit, const std::function<std::string()>& body);

}  // namespace tenon

#endif
