#include "core/cli/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/cli/cli.h"
#include "core/support/files.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::ordered_json;

/// `j` at a path of keys, or null: files of an artefact may be of another version.
Json at(const Json& j, std::initializer_list<const char*> path) {
  const Json* x = &j;
  for (const char* key : path) {
    if (!x->is_object() || !x->contains(key)) return nullptr;
    x = &(*x)[key];
  }
  return *x;
}

std::string types(const Json& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const Json& t : list)
      if (t.is_string()) out.push_back(t.get<std::string>());
  return fmt::format("{}", fmt::join(out, ", "));
}

std::uint64_t sum(const Json& list) {
  std::uint64_t out = 0;
  if (list.is_array())
    for (const Json& n : list)
      if (n.is_number_unsigned()) out += n.get<std::uint64_t>();
  return out;
}

}  // namespace

Profile::Profile(const Runner& r, const std::string& folder) {
  for (StepInfo& s : r.steps()) steps_.push_back({std::move(s)});
  Json metadata = nullptr;
  if (const auto text = DiskFiles().read(join_path(folder, "metadata.json")))
    metadata = Json::parse(*text, nullptr, false);
  const Json kernels = at(Json::parse(r.program(), nullptr, false), {"kernels"});
  std::map<std::string, std::uint64_t> bytes;
  if (kernels.is_array()) {
    for (const Json& k : kernels) {
      const Json symbol = at(k, {"symbol"});
      if (symbol.is_string()) bytes[symbol.get<std::string>()] = sum(at(k, {"args"}));
    }
  }
  for (ProfiledStep& s : steps_) {
    if (s.kernel.empty()) continue;
    s.bytes = bytes[s.kernel];
    const Json f = at(metadata, {"functions", s.kernel.c_str()});
    s.inputs = types(at(f, {"inputs"}));
    s.outputs = types(at(f, {"outputs"}));
  }
}

void Profile::add(const Runner& r) {
  const std::vector<std::uint64_t> ns = r.step_times();
  for (std::size_t i = 0; i < steps_.size() && i < ns.size(); ++i)
    steps_[i].ns = steps_[i].ns ? std::min(steps_[i].ns, ns[i]) : ns[i];
}

std::uint64_t Profile::total() const {
  std::uint64_t out = 0;
  for (const ProfiledStep& s : steps_) out += s.ns;
  return std::max<std::uint64_t>(out, 1);
}

std::string Profile::table(std::size_t limit) const {
  std::vector<const ProfiledStep*> order;
  for (const ProfiledStep& s : steps_) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->ns > b->ns; });
  std::vector<std::vector<std::string>> rows{{"step", "ms", "share", "Gop/s", "GB/s", "writes"}};
  for (const ProfiledStep* s : order) {
    if (rows.size() > limit) break;
    rows.push_back(
        {s->name, fmt::format("{:.3f}", static_cast<double>(s->ns) / 1e6),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(s->ns) / static_cast<double>(total())),
         s->work ? fmt::format("{:.1f}", s->gigaops()) : "-",
         s->bytes ? fmt::format("{:.1f}", s->gigabytes()) : "-", s->outputs});
  }
  return fmt::format("where the time went, the least of the runs ({} steps):\n{}", steps_.size(),
                     cli::table(rows));
}

Json Profile::json() const {
  Json out = Json::array();
  for (const ProfiledStep& s : steps_) {
    Json j{{"name", s.name},
           {"kind", s.kind},
           {"ns", s.ns},
           {"share", static_cast<double>(s.ns) / static_cast<double>(total())}};
    if (!s.kernel.empty())
      j.update({{"kernel", s.kernel},
                {"work", s.work},
                {"bytes", s.bytes},
                {"gop_per_s", s.gigaops()},
                {"gb_per_s", s.gigabytes()},
                {"inputs", s.inputs},
                {"outputs", s.outputs}});
    out.push_back(std::move(j));
  }
  return out;
}

Json Profile::trace(const std::string& model) const {
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", model}}}});
  std::uint64_t at = 0;
  for (const ProfiledStep& s : steps_) {
    events.push_back({{"name", s.name},
                      {"cat", s.kind},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", static_cast<double>(at) / 1e3},
                      {"dur", static_cast<double>(s.ns) / 1e3},
                      {"args",
                       {{"kernel", s.kernel},
                        {"work", s.work},
                        {"bytes", s.bytes},
                        {"inputs", s.inputs},
                        {"outputs", s.outputs}}}});
    at += s.ns;
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace tenon::cli
