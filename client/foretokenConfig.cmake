# find_package(foretoken): the client library foretoken::client and the messages foretoken::proto.
include(CMakeFindDependencyMacro)
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)
find_dependency(absl CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/foretokenTargets.cmake)
