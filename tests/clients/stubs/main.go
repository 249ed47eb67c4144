// Links stubs that buf made beside gRPC, which has google.rpc.Status of its own: registered twice, it would end here.
package main

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	v1 "example.com/yours/stubs/foretoken/v1"
)

func main() {
	refused := &v1.CandidateResult{Result: &v1.CandidateResult_Status{Status: status.New(codes.NotFound, "started").Proto()}}
	fmt.Println(refused.GetStatus().GetMessage())
}
