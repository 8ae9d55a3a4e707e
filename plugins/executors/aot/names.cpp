#include "names.h"

#include "tenon/c_names.h"

namespace tenon::aot_executor {
namespace {

std::string capitals(std::string s) {
  for (char& c : s)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return s;
}

std::vector<std::string> members(const std::vector<ExecIo>& list) {
  CNames scope;
  std::vector<std::string> out;
  for (const ExecIo& io : list) out.push_back(scope.take(io.name));
  return out;
}

std::vector<std::string> macros(CNames& scope, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& n : names) out.push_back(scope.take(capitals(n)));
  return out;
}

}  // namespace

Names names_of(const ExecProgram& p, std::string_view model) {
  const std::string base = c_name(model.empty() ? p.model : model);
  Names n{.prefix = "tenon_" + base, .macro = "TENON_" + capitals(base)};
  n.inputs = members(p.inputs);
  n.outputs = members(p.outputs);
  CNames pools, inputs, outputs, pool_macros;
  for (const ExecPool& pool : p.pools) n.pools.push_back(pools.take(pool.id));
  n.pool_macros = macros(pool_macros, n.pools);
  n.input_macros = macros(inputs, n.inputs);
  n.output_macros = macros(outputs, n.outputs);
  return n;
}

std::string comment_text(std::string_view text) {
  constexpr std::string_view also = "_./:,;()[]{}<>+-= %@#";
  std::string out;
  for (const char c : text) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool ends = c == '/' && !out.empty() && (out.back() == '*' || out.back() == '/');
    out += (alphanumeric || also.find(c) != also.npos) && !ends ? c : '_';
    if (out.size() == 120) return out + "..";
  }
  return out;
}

}  // namespace tenon::aot_executor
