// One function per verb; see cli.cpp for the rows.
#ifndef TENON_CORE_CLI_COMMANDS_H
#define TENON_CORE_CLI_COMMANDS_H

namespace CLI {
class App;
}

namespace tenon::cli {

struct Context;

void add_fit(CLI::App& app, Context& ctx);
void add_compile(CLI::App& app, Context& ctx);
void add_run(CLI::App& app, Context& ctx);
void add_compare(CLI::App& app, Context& ctx);
void add_opt(CLI::App& app, Context& ctx);
void add_plan(CLI::App& app, Context& ctx);
void add_validate(CLI::App& app, Context& ctx);
void add_plugin(CLI::App& app, Context& ctx);
void add_pass(CLI::App& app, Context& ctx);
void add_pipeline(CLI::App& app, Context& ctx);
void add_board(CLI::App& app, Context& ctx);
void add_op(CLI::App& app, Context& ctx);
void add_kit(CLI::App& app, Context& ctx);
void add_explain(CLI::App& app, Context& ctx);

}  // namespace tenon::cli

#endif
