#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "core/cli/cli.h"
#include "tenon/options.h"

namespace {

using tenon::Diag;
using tenon::cli::Context;

constexpr const char* format_option = "--error-format";

/// Known before the arguments are parsed: what is wrong with them is reported in that form too.
bool json_wanted(int argc, char** argv) {
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == format_option && i + 1 < argc) json = std::strcmp(argv[i + 1], "json") == 0;
    if (a.starts_with(format_option) && a.substr(std::strlen(format_option)).starts_with('='))
      json = a.ends_with("=json");
  }
  return json;
}

/// The innermost verb that was recognised.
const CLI::App& verb_of(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string path_of(const CLI::App& verb) {
  std::string name = verb.get_name();
  for (const CLI::App* up = verb.get_parent(); up; up = up->get_parent())
    name = up->get_name() + " " + name;
  return name;
}

/// A verb was wanted here: the word that stands in its place, and the nearest one, or all.
Diag no_verb(const CLI::App& app, const CLI::App& verb, const std::vector<std::string>& verbs) {
  std::string word;
  for (const std::string& rest : app.remaining(true))
    if (word.empty() && !rest.starts_with('-')) word = rest;
  const std::string near = tenon::did_you_mean(word, verbs);
  return {.code = 2152,
          .what = word.empty() ? fmt::format("{}: a verb is missing", path_of(verb))
                               : fmt::format("{}: there is no verb '{}'", path_of(verb), word),
          .fix = near.empty() ? fmt::format("verbs: {}", fmt::join(verbs, ", "))
                              : fmt::format("did you mean '{}'?", near)};
}

Diag usage(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& verb = verb_of(app);
  std::vector<std::string> verbs;
  for (const CLI::App* v : verb.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(v->get_name());
  if (!verbs.empty()) return no_verb(app, verb, verbs);
  return {.code = 2152,
          .what = fmt::format("{}: {}", path_of(verb), e.what()),
          .fix = path_of(verb) + " --help"};
}

Diag out_of_memory(const char* what) {
  return {.code = 8106,
          .what = fmt::format("no memory left ({})", what),
          .fix =
              "use smaller shapes, raise the limit of the process (ulimit -v), or use a machine "
              "with more memory"};
}

int run(int argc, char** argv, Context& ctx) {
  CLI::App app{
      "Tenon compiles a trained model, by a pipeline of swappable plugins, to an artefact that a "
      "small C runtime runs.",
      "tenon"};
  app.set_version_flag("--version", fmt::format("tenon {} (ABI {})", TENON_VERSION, TENON_ABI));
  app.require_subcommand(1);
  app.fallthrough();
  std::string format = "text";
  app.add_option(format_option, format, "How errors are printed on stderr")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--plugin-path", ctx.plugin_paths,
                 "Folder or file with plugins, searched first; may be repeated");
  app.footer(
      "Start with:  tenon fit MODEL.onnx    then:  tenon compile MODEL.onnx -o out && tenon run "
      "out\nA message's code has a page: tenon explain TN2104");
  for (const auto& v : tenon::cli::verbs()) v.add(*app.add_subcommand(v.name, v.help), ctx);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return ctx.report(usage(app, e));
  }
  return ctx.exit_code;
}

int guarded_run(int argc, char** argv) {
  Context ctx;
  ctx.json_errors = json_wanted(argc, argv);
  try {
    return run(argc, argv, ctx);
  } catch (const std::bad_alloc& e) {
    return ctx.report(out_of_memory(e.what()));
  } catch (const std::length_error& e) {  // a container was asked for more than can be addressed
    return ctx.report(out_of_memory(e.what()));
  } catch (const std::exception& e) {
    return ctx.report(
        Diag{.code = 9001,
             .what = fmt::format("an exception reached the command line: {}", e.what()),
             .fix = "this is a bug of Tenon: please report it"});
  }
}

// A plugin that ends or crashes the process must not look like success: exit code 4 and a line.
bool returned = false;  // from run(): what ends the process before that is a plugin

void last_words(const char* what) {
  constexpr const char* fix =
      "\n  = try: a plugin did this, or Tenon itself: leave out the plugins that do not ship, "
      "`tenon "
      "kit run` checks a planner\n";
  // Nothing here may allocate or lock: it also runs in signal handlers.
  for (const char* part : {"error[TN1015]: the process was ended by ", what, fix})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
}

extern "C" void on_crash(int signal) {
  last_words(signal == SIGSEGV   ? "a crash (SIGSEGV)"
             : signal == SIGABRT ? "a crash (SIGABRT)"
             : signal == SIGFPE  ? "a crash (SIGFPE)"
             : signal == SIGBUS  ? "a crash (SIGBUS)"
                                 : "a crash (SIGILL)");
  _exit(4);
}

/// A mapped file that ends before what is read of it: no fault of a plugin.
extern "C" void on_bus_error(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) on_crash(signal);
  constexpr const char* text =
      "error[TN2001]: a file was cut short by another process while it was read\n  = try: write "
      "models and artefacts under another name, and rename them when they are whole\n";
  _exit(write(STDERR_FILENO, text, std::strlen(text)) < 0 ? 4 : 2);
}

extern "C" void on_exit_early() {
  if (returned) return;
  last_words("a call of exit()");
  _exit(4);
}

void watch_the_end() {
  std::atexit(on_exit_early);
#if !defined(__SANITIZE_ADDRESS__)
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, on_crash);
  struct sigaction bus {};
  bus.sa_sigaction = on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &bus, nullptr);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  watch_the_end();
  const int code = guarded_run(argc, argv);
  returned = true;
  std::fflush(nullptr);
#if !defined(__SANITIZE_ADDRESS__)  // it looks for leaks at exit
  _exit(code);  // a planner that was left behind may still run: nothing is taken down under it
#endif
  return code;
}
