#include "core/pipeline/schema.h"

#include <nlohmann/json.hpp>

namespace tenon::schema {
namespace {

using Json = nlohmann::ordered_json;

constexpr Key keys[] = {
    {"tenon", "version of this schema: 1", true},
    {"board", "name or path of the board", false},
    {"extends", "name or path of the pipeline that this one changes", false},
    {"io", "who owns inputs and outputs: caller, or planned", false},
    {"keep", "globs: values whose storage is not reused", false},
    {"state", "pairs of input and output that are one storage, kept from run to run", false},
    {"targets", "what code is made for, by id", true},
    {"pools", "memories of the device, by id, in order of preference", true},
    {"reserved", "bytes of pools that are not ours", true},
    {"place", "where values may live; the first rule that matches decides", false},
    {"plugins", "plugin files, by plugin id", false},
    {"defaults", "implementation of each slot that a step takes when it has no `with`", false},
    {"steps", "what is done, in order", false},
};

Json typed(const OptionRow& r) {
  Json j;
  if (r.type == "bool") j["type"] = "boolean";
  if (r.type == "int") j["type"] = "integer";
  if (r.type == "float") j["type"] = "number";
  if (r.type == "string") j["type"] = "string";
  if (r.type == "list<string>") j = {{"type", "array"}, {"items", {{"type", "string"}}}};
  if (r.type == "bytes")
    j = {{"type", {"integer", "string"}},
         {"minimum", 0},
         {"pattern", "^(0|[1-9][0-9]*|0x[0-9a-fA-F]+)(KiB|MiB|GiB)?$"}};
  if (r.type == "int" && r.range.min != INT64_MIN) j["minimum"] = r.range.min;
  j["description"] = r.doc;
  return j;
}

template <class S>
Json properties() {
  Json out = Json::object();
  for (const OptionRow& r : option_rows<S>()) out[r.key] = typed(r);
  return out;
}

Json object(Json props, std::vector<std::string> required = {}) {
  Json j = {{"type", "object"}, {"properties", std::move(props)}, {"additionalProperties", false}};
  if (!required.empty()) j["required"] = std::move(required);
  return j;
}
Json map_of(Json value) { return {{"type", "object"}, {"additionalProperties", std::move(value)}}; }
Json list_of(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }
Json ref(const char* name) { return {{"$ref", std::string("#/$defs/") + name}}; }
Json choice(std::vector<std::string> words) { return {{"enum", std::move(words)}}; }

Json defs() {
  Json d;
  d["option"] = {{"anyOf",
                  {Json{{"type", {"string", "number", "boolean"}}},
                   list_of({{"type", {"string", "number", "boolean"}}})}}};
  d["target"] = {
      {"type", "object"},
      {"properties",
       {{"with", {{"type", "string"}, {"description", "implementation of the target"}}}}},
      {"required", {"with"}},
      {"additionalProperties", ref("option")}};
  Json pool = properties<PoolKeys>();
  pool["holds"]["items"] = choice({"constants", "data", "worker"});
  pool["access"] = map_of(choice({"r", "rw", "none"}));
  pool["access"]["description"] = "by target id; absent = every target reads and writes";
  d["pool"] = object(std::move(pool));
  d["reserved"] = object(properties<ReservedKeys>(), {"pool", "at", "size"});
  Json place = properties<PlaceKeys>();
  place["role"]["enum"] = {"input",      "output",  "constant", "state",
                           "activation", "scratch", "worker"};
  d["place"] = object(std::move(place), {"pools"});
  d["state"] = object(properties<StateKeys>(), {"input", "output"});
  d["plugin"] = object(properties<PluginKeys>(), {"path"});
  Json step = properties<StepKeys>();
  const Json names = {{"anyOf", {Json{{"type", "string"}}, list_of({{"type", "string"}})}}};
  step["else"] = names;
  step["else"]["description"] = "of plan: implementations to try when this one finds no plan";
  step.update(properties<LowerKeys>());
  step.update(properties<PlanKeys>());
  step["on"] = map_of({{"type", "object"}});
  step["on"]["description"] = "of lower: other choices for a target, by its id";
  const Json options = {
      {"type", "object"}, {"properties", std::move(step)}, {"additionalProperties", ref("option")}};
  d["step"] = {{"anyOf",
                {Json{{"type", "string"}}, Json{{"type", "object"},
                                                {"minProperties", 1},
                                                {"maxProperties", 1},
                                                {"additionalProperties", options}}}}};
  return d;
}

}  // namespace

std::span<const Key> file_keys() { return keys; }

std::string json_schema() {
  Json top = properties<FileKeys>();
  top["io"]["enum"] = {"caller", "planned"};
  top["tenon"] = {{"const", 1}};
  top["targets"] = map_of(ref("target"));
  top["pools"] = map_of(ref("pool"));
  top["reserved"] = list_of(ref("reserved"));
  top["place"] = list_of(ref("place"));
  top["state"] = list_of(ref("state"));
  top["plugins"] = map_of(ref("plugin"));
  top["defaults"] = map_of({{"type", "string"}});
  top["steps"] = list_of(ref("step"));
  Json props = Json::object();
  for (const Key& k : keys) {
    props[std::string(k.name)] = top.at(std::string(k.name));
    props[std::string(k.name)]["description"] = k.doc;
  }
  Json j = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"title", "Tenon pipeline or board, version 1"}};
  j.update(object(std::move(props), {"tenon"}));
  j["$defs"] = defs();
  return j.dump(2) + "\n";
}

}  // namespace tenon::schema
