// tenon opt: text form in, passes, text form out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/pipeline/run.h"
#include "core/plugin_host/session.h"
#include "core/support/files.h"
#include "tenon/text.h"

namespace tenon::cli {
namespace {

struct Args {
  std::string file, output;
  std::vector<std::string> passes;
};

int run(Context& ctx, const Args& a) {
  DiskFiles disk;
  auto text = disk.read(a.file);
  if (!text) return ctx.report(text.errors());
  auto session = open_session(ctx.session_options());
  if (!session) return ctx.report(session.errors());
  auto m = parse_module(*text, a.file, session->ops());
  if (!m) return ctx.report(m.errors());
  for (const std::string& id : a.passes) {
    auto pass = session->pass(id);
    if (!pass) return ctx.report(pass.errors());
    Diags reports;
    Status s = run_pass(*m, **pass, {}, &reports);
    if (!s) {
      Diags all = s.errors();
      all.insert(all.end(), reports.begin(), reports.end());
      return ctx.report(all);
    }
    ctx.report(reports);
  }
  const std::string out = print(*m);
  if (a.output.empty()) {
    fmt::print("{}", out);
    return 0;
  }
  if (Status s = disk.write(a.output, out); !s) return ctx.report(s.errors());
  return 0;
}

}  // namespace

void add_opt(CLI::App& app, Context& ctx) {
  auto a = std::make_shared<Args>();
  app.add_option("FILE", a->file, "Module in text form (.tir)")->required();
  app.add_option("--passes", a->passes, "Passes to run, in order, with commas between")
      ->delimiter(',');
  app.add_option("-o,--output", a->output, "File for the result (default: stdout)");
  app.footer("Example:\n  tenon opt m.tir --passes simplify,fuse-ops");
  app.callback([a, &ctx] { run(ctx, *a); });
}

}  // namespace tenon::cli
