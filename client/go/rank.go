package foretoken

import (
	"context"
	"fmt"

	v1 "github.com/foretoken/foretoken/client/go/foretoken/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Choice is what the server says of one candidate: an estimate or an error.
type Choice struct {
	Index     int           // of the candidate in the call of Rank
	Candidate *v1.Candidate // as it was given
	Estimate  *v1.Estimate  // nil where there is Err
	Err       error         // why there is no estimate, with its details: status.FromError
}

// Rank asks for an estimate of a request on each candidate, up to 1,000, in one call, and returns the candidates best
// first; those without an estimate come last. `base` is the request; each candidate states its hardware, its deployment
// and its LiveLoad.
//
// Errors: those of BatchEstimate.
func Rank(ctx context.Context, estimator v1.EstimatorServiceClient, base *v1.Scenario, candidates []*v1.Candidate,
	by v1.RankBy, options ...grpc.CallOption) ([]Choice, error) {
	request := &v1.BatchEstimateRequest{Base: base, Candidates: candidates, RankBy: by}
	reply, err := estimator.BatchEstimate(ctx, request, options...)
	if err != nil {
		return nil, err
	}
	if len(reply.Results) != len(candidates) {
		return nil, fmt.Errorf("%d results of %d candidates", len(reply.Results), len(candidates))
	}
	order := reply.Ranking
	if len(order) == 0 { // RANK_BY_UNSPECIFIED
		for i := range candidates {
			order = append(order, int32(i))
		}
	}
	choices := make([]Choice, 0, len(order))
	for _, i := range order {
		if i < 0 || int(i) >= len(candidates) {
			return nil, fmt.Errorf("the ranking has index %d of %d candidates", i, len(candidates))
		}
		result := reply.Results[i]
		choice := Choice{Index: int(i), Candidate: candidates[i], Estimate: result.GetEstimate()}
		if choice.Estimate == nil {
			choice.Err = status.ErrorProto(result.GetStatus())
		}
		choices = append(choices, choice)
	}
	return choices, nil
}
