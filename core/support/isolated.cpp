#include "core/support/isolated.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon {
namespace {

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

[[noreturn]] void child(int fd, const std::function<std::string()>& body) {
  for (const int crash : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) signal(crash, SIG_DFL);
  std::string text;
  try {
    text = body();
  } catch (const std::exception& e) {
    text = fmt::format("threw: {}", e.what());
  } catch (...) {
    text = "threw an exception of unknown type";
  }
  write_all(fd, text + "\n.");  // the mark says that the text is whole
  _exit(0);
}

/// What the child writes until it ends; false when `limit` passes first.
bool read_until_end(int fd, std::chrono::seconds limit, std::string& out) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[4096];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return true;
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

ChildResult run_isolated(std::chrono::seconds limit, const std::function<std::string()>& body) {
  int fds[2];
  if (pipe(fds) != 0) return {false, "no process could be started"};
  const pid_t pid = fork();
  if (pid < 0) {
    close(fds[0]), close(fds[1]);
    return {false, "no process could be started"};
  }
  if (pid == 0) {
    close(fds[0]);
    child(fds[1], body);
  }
  close(fds[1]);
  std::string text;
  const bool ended = read_until_end(fds[0], limit, text);
  close(fds[0]);
  if (!ended) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!ended) return {false, fmt::format("did not return within {} s", limit.count())};
  if (text.ends_with("\n.")) return {true, text.substr(0, text.size() - 2)};
  if (WIFSIGNALED(status))
    return {false, fmt::format("crashed: SIG{}", sigabbrev_np(WTERMSIG(status)))};
  return {false, fmt::format("ended the process with {}", WEXITSTATUS(status))};
}

}  // namespace tenon
