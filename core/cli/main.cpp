#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "core/cli/cli.h"

namespace {

int run(int argc, char** argv) {
  using tenon::cli::Context;
  Context ctx;
  CLI::App app{
      "Tenon compiles a trained model, by a pipeline of swappable plugins, to an artefact that a "
      "small C runtime runs.",
      "tenon"};
  app.set_version_flag("--version", fmt::format("tenon {} (ABI {})", TENON_VERSION, TENON_ABI));
  app.require_subcommand(1);
  app.fallthrough();
  std::string format = "text";
  app.add_option("--error-format", format, "How errors are printed on stderr")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--plugin-path", ctx.plugin_paths,
                 "Folder or file with plugins, searched first; may be repeated");
  app.footer(
      "Start with:  tenon fit MODEL.onnx    then:  tenon compile MODEL.onnx -o out && tenon run "
      "out\nA message's code has a page: tenon explain TN2104");
  app.parse_complete_callback([&] { ctx.json_errors = format == "json"; });
  for (const auto& v : tenon::cli::verbs()) v.add(*app.add_subcommand(v.name, v.help), ctx);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return ctx.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr,
               "error[TN9001]: an exception reached the command line: {}\n  = this is a bug of "
               "Tenon: please report it\n",
               e.what());
    return 5;
  }
}
