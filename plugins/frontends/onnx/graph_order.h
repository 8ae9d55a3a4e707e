// The names and the order of a graph's nodes, before anything is imported.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_GRAPH_ORDER_H
#define TENON_PLUGINS_FRONTENDS_ONNX_GRAPH_ORDER_H

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace tenon::onnx_import {

/// Names given twice, in words. A name is given once, to an input, an initializer or a node's
/// output; an initializer may repeat an input, whose value it then is.
std::vector<std::string> names_given_twice(const onnx::GraphProto& g);

/// ONNX asks for topological order, not every exporter obeys: nodes behind all that they read, a
/// node's subgraphs included; first in the file first. Fewer nodes than the graph has when there is
/// a cycle: `cycle` then gets the nodes in or behind it.
std::vector<const onnx::NodeProto*> sorted_nodes(const onnx::GraphProto& g,
                                                 std::vector<std::string>* cycle);

/// What messages call a node.
std::string label(const onnx::NodeProto& n);

/// Levels of subgraphs below `g`; stops counting behind `most`.
int depth_of(const onnx::GraphProto& g, int most);

}  // namespace tenon::onnx_import

#endif
