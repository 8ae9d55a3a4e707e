// tenon plan show: the plan of an artefact, as a table, a page, a picture or text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/cli/planning.h"
#include "core/picture/picture.h"
#include "core/support/files.h"

namespace tenon::cli {
namespace {

struct ShowArgs {
  std::string folder, beside, html, svg, pool, title;
  bool text = false;
};

/// The pool that --pool names, else the one with the largest peak.
Result<std::string> pool_of(const Planned& l, const std::string& wanted) {
  const auto& pools = l.request.request.pools;
  if (wanted.empty()) {
    const auto most = std::ranges::max_element(l.plan.pools, {}, &PoolUse::peak);
    return pools[static_cast<std::size_t>(most - l.plan.pools.begin())].id;
  }
  std::vector<std::string> known;
  for (const StoragePool& p : pools) known.push_back(p.id);
  if (std::ranges::find(known, wanted) != known.end()) return wanted;
  return Diag{.code = 2151,
              .what = fmt::format("the plan has no pool '{}'", wanted),
              .fix = fmt::format("its pools: {}", fmt::join(known, ", "))};
}

Status write(const std::string& path, const std::string& text) {
  if (Status s = DiskFiles().write(path, text); !s) return s;
  say(fmt::format("{}: {}\n", path, size_text(text.size())));
  return {};
}

int show_verb(Context& ctx, const ShowArgs& a) {
  std::vector<Planned> loaded;
  for (const std::string& folder : {a.folder, a.beside}) {
    if (folder.empty()) continue;
    auto l = load_planned(folder);
    if (!l) return ctx.report(l.errors());
    loaded.push_back(std::move(*l));
  }
  auto pool = pool_of(loaded[0], a.pool);
  if (!pool) return ctx.report(pool.errors());
  std::vector<ShownPlan> shown;
  for (const Planned& l : loaded) shown.push_back({l.plan.planner, &l.request.request, &l.plan});
  if (shown.size() > 1 && shown[0].title == shown[1].title) {
    shown[0].title += ", " + a.folder;
    shown[1].title += ", " + a.beside;
  }
  if (!a.html.empty())
    if (Status s = write(a.html, picture_page(a.title.empty() ? a.folder : a.title, shown)); !s)
      return ctx.report(s.errors());
  if (!a.svg.empty())
    if (Status s = write(a.svg, picture_svg(shown, *pool)); !s) return ctx.report(s.errors());
  if (a.text)
    for (const ShownPlan& s : shown) say(picture_text(s, *pool, 100, 24));
  if (a.html.empty() && a.svg.empty() && !a.text)
    for (const Planned& l : loaded) say(show_plan(l.request.request, l.plan));
  return 0;
}

}  // namespace

void add_plan_show(CLI::App& plan, Context& ctx) {
  auto* show = plan.add_subcommand("show", "Show the plan of an artefact");
  auto a = std::make_shared<ShowArgs>();
  show->add_option("DIR", a->folder, "Artefact folder, or any with request.json and plan.json")
      ->required();
  show->add_option("--beside", a->beside, "Another one, shown beside it");
  show->add_option("--html", a->html,
                   "Write a page: a tab per pool, hover, click, search; open it in a browser");
  show->add_option("--svg", a->svg, "Write a picture of one pool");
  show->add_flag("--text", a->text, "Print a picture of one pool");
  show->add_option("--pool", a->pool, "The pool of --svg and --text; else the fullest");
  show->add_option("--title", a->title, "Title of the page; else the folder's name");
  show->footer(
      "Without --html, --svg and --text: a table of pools, and who stands where.\n\nExample:\n"
      "  tenon compile model.onnx -o shared && tenon compile model.onnx -o alone --set "
      "plan.with=naive\n  tenon plan show alone --beside shared --html plans.html");
  show->callback([a, &ctx] { show_verb(ctx, *a); });
}

}  // namespace tenon::cli
