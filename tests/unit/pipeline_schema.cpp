// sdk/docs/schema/pipeline.schema.json is what the rows say, and accepts what ships. Run with
// TENON_BLESS=1 to rewrite it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/pipeline/config.h"
#include "core/pipeline/schema.h"
#include "core/pipeline/yaml_tree.h"

namespace tenon {
namespace {

using Json = nlohmann::json;
const std::string source = TENON_SOURCE_DIR;

/// A tree as JSON, scalars typed as YAML 1.2 core types them.
Json to_json(const YamlNode& n) {
  if (n.kind == YamlNode::Kind::null) return nullptr;
  Json j;
  if (n.kind == YamlNode::Kind::list) {
    j = Json::array();
    for (const YamlPtr& i : n.items) j.push_back(to_json(*i));
  } else if (n.kind == YamlNode::Kind::map) {
    j = Json::object();
    for (const YamlEntry& e : n.entries) j[e.key] = to_json(*e.value);
  } else {
    bool b = false;
    std::int64_t i = 0;
    double d = 0;
    if (n.quoted) return n.text;
    if (read_scalar(n.text, b)) return b;
    if (read_scalar(n.text, i)) return i;
    if (read_scalar(n.text, d)) return d;
    return n.text;
  }
  return j;
}

/// As much of JSON Schema as the file uses.
class Checker {
 public:
  explicit Checker(const Json& root) : root_(root) {}

  bool ok(const Json& schema, const Json& v) const {
    if (schema.contains("$ref"))
      return ok(root_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), v);
    if (schema.contains("anyOf"))
      return std::ranges::any_of(schema["anyOf"], [&](const Json& s) { return ok(s, v); });
    if (schema.contains("const") && schema["const"] != v) return false;
    if (schema.contains("enum") && std::ranges::find(schema["enum"], v) == schema["enum"].end())
      return false;
    if (schema.contains("type") && !type(schema["type"], v)) return false;
    if (schema.contains("minimum") && v.is_number() && v < schema["minimum"]) return false;
    if (schema.contains("pattern") && v.is_string() &&
        !std::regex_match(v.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
      return false;
    if (v.is_array() && schema.contains("items"))
      return std::ranges::all_of(v, [&](const Json& i) { return ok(schema["items"], i); });
    return !v.is_object() || object(schema, v);
  }

 private:
  static bool type(const Json& t, const Json& v) {
    if (t.is_array()) return std::ranges::any_of(t, [&](const Json& one) { return type(one, v); });
    return t == "object"    ? v.is_object()
           : t == "array"   ? v.is_array()
           : t == "string"  ? v.is_string()
           : t == "integer" ? v.is_number_integer()
           : t == "number"  ? v.is_number()
                            : t == "boolean" && v.is_boolean();
  }
  bool object(const Json& schema, const Json& v) const {
    for (const auto& key : schema.value("required", Json::array()))
      if (!v.contains(key.get<std::string>())) return false;
    if (schema.contains("maxProperties") && v.size() > schema["maxProperties"]) return false;
    if (schema.contains("minProperties") && v.size() < schema["minProperties"]) return false;
    for (const auto& [key, value] : v.items()) {
      const Json props = schema.value("properties", Json::object());
      const Json rest =
          schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
      const bool good = props.contains(key) ? ok(props[key], value)
                        : rest.is_boolean() ? rest.get<bool>()
                                            : ok(rest, value);
      if (!good) return false;
    }
    return true;
  }
  const Json& root_;
};

TEST_CASE("schema: the file is what the rows say") {
  const std::string path = source + "/sdk/docs/schema/pipeline.schema.json";
  DiskFiles disk;
  if (std::getenv("TENON_BLESS")) REQUIRE(disk.write(path, schema::json_schema()));
  const auto text = disk.read(path);
  REQUIRE(text);
  CHECK_MESSAGE(*text == schema::json_schema(),
                "run with TENON_BLESS=1 and look at the difference");
}

TEST_CASE("schema: accepts what ships, refuses what the reader refuses by structure") {
  const Json schema = Json::parse(schema::json_schema());
  const Checker checker(schema);
  const DiskFiles disk;
  std::size_t files = 0;
  for (const std::string& dir : {source + "/pipelines", source + "/pipelines/boards"})
    for (const std::string& name : disk.list(dir)) {
      if (!name.ends_with(".yaml")) continue;
      CHECK_MESSAGE(checker.ok(schema, to_json(**parse_yaml(*disk.read(dir + "/" + name), name))),
                    name);
      ++files;
    }
  CHECK(files >= 4);
  const auto accepts = [&](std::string_view text) {
    return checker.ok(schema, to_json(**parse_yaml(text, "f")));
  };
  CHECK(
      accepts("tenon: 1\nsteps: [a, {lower: {with: te, on: {m7: {with: x}}}}, {plan: {else: [a], "
              "work: 5}}]"));
  CHECK(accepts("tenon: 1\nplace: [{role: constant, pools: [a], at: 0x10, optional: true}]"));
  for (const char* s :
       {"{}", "tenon: 2", "tenon: 1\nx: 1", "tenon: 1\npools: {p: {capacity: 64KB}}",
        "tenon: 1\npools: {p: {size: 1}}", "tenon: 1\ntargets: {t: {cpu: x}}",
        "tenon: 1\nplace: [{role: constants, pools: [a]}]", "tenon: 1\nplace: [{value: a}]",
        "tenon: 1\nsteps: [{a: {}, b: {}}]", "tenon: 1\nsteps: {a: {}}", "tenon: 1\nio: mine",
        "tenon: 1\nreserved: [{pool: p}]", "tenon: 1\npools: {p: {access: {t: w}}}",
        "tenon: 1\nplugins: {a: {}}"})
    CHECK_FALSE_MESSAGE(accepts(s), s);
}

}  // namespace
}  // namespace tenon
