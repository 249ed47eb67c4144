// Package foretoken asks a foretoken server how long LLM requests take before they run.
//
//	conn, err := foretoken.Dial("127.0.0.1:50051", foretoken.Options{})
//	estimator := v1.NewEstimatorServiceClient(conn)
//	reply, err := estimator.Estimate(ctx, &v1.EstimateRequest{Scenario: scenario})
//
// A router asks before it routes: Scrape or LiveLoadOf reads what each replica is doing from the metrics of its engine,
// and Rank orders the replicas. The messages and stubs of the API are in foretoken/v1, made by generate.sh.
package foretoken
