#!/usr/bin/env bash
# Makes the stubs foretoken/v1/*.pb.go anew from proto/, with protoc and the two plugins that go.mod names as tools.
# Usage: client/go/generate.sh [FOLDER]    FOLDER: where to, instead of into this module
set -euo pipefail
cd "$(dirname "$0")"
proto=../../proto
out=${1:-.}
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
go build -o "$plugins/" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH="$plugins:$PATH" protoc -I "$proto" --go_out="$out" --go_opt=module=github.com/foretoken/foretoken/client/go \
  --go-grpc_out="$out" --go-grpc_opt=module=github.com/foretoken/foretoken/client/go "$proto"/foretoken/v1/*.proto
