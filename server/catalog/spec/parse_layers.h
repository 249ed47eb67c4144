// The parts of a model's spec that say what its layers are beyond one shape of attention and MLP: recurrence, sparse
// and compressed attention, shared keys, per-layer inputs and hyper-connections.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_PARSE_LAYERS_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_PARSE_LAYERS_H_

#include "estimator/scenario/model.h"
#include "foretoken/v1/model.pb.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::catalog {

// How many layers have recurrence, attention and an MLP. Comes first: the limits of other fields follow from it.
// REQUIRES: the number of layers is read.
void ParseLayerCounts(FieldChecker& checks, const v1::ModelSpec& spec, Model& model);

// Everything else of these parts. REQUIRES: heads, windows and latents are read.
void ParseLayers(FieldChecker& checks, const v1::ModelSpec& spec, Model& model);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_PARSE_LAYERS_H_
