package foretoken

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	v1 "github.com/foretoken/foretoken/client/go/foretoken/v1"
)

const h100 = "nvidia-h100-sxm-80gb"

// foretokend starts a server on a free port, waits until it listens, and returns its address. FORETOKEND names the
// binary.
func foretokend(t *testing.T, flags ...string) string {
	t.Helper()
	binary := os.Getenv("FORETOKEND")
	if binary == "" {
		t.Skip("FORETOKEND names no server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	server := exec.Command(binary, append(flags, "--listen="+address, "--metrics_listen=127.0.0.1:0", "--catalog_store=memory:")...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	for range 500 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("foretokend does not listen")
	return ""
}

func scenario() *v1.Scenario {
	return &v1.Scenario{
		Model:      &v1.Scenario_ModelId{ModelId: "llama-3.1-8b"},
		Hardware:   &v1.Scenario_HardwareId{HardwareId: h100},
		Workload:   &v1.Workload{PromptTokens: proto.Int32(2048), OutputTokens: proto.Int32(256)},
		Deployment: &v1.Deployment{Engine: "vllm"},
	}
}

func estimate(t *testing.T, address string, options Options) (*v1.EstimateResponse, error) {
	t.Helper()
	client := v1.NewEstimatorServiceClient(dial(t, address, options))
	return client.Estimate(soon(t), &v1.EstimateRequest{Scenario: scenario()})
}

func TestEstimate(t *testing.T) {
	reply, err := estimate(t, foretokend(t), Options{})
	if err != nil || reply.Estimate.Ttft.Seconds <= 0 || reply.CatalogRevision.BundleDigest == "" {
		t.Errorf("got %v, %v", reply, err)
	}
}

func TestARefusalNamesItsField(t *testing.T) {
	asked := scenario()
	asked.Deployment.TensorParallel = proto.Int32(0)
	client := v1.NewEstimatorServiceClient(dial(t, foretokend(t), Options{}))
	_, err := client.Estimate(soon(t), &v1.EstimateRequest{Scenario: asked})
	var paths []string
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			for _, violation := range bad.FieldViolations {
				paths = append(paths, violation.Field)
			}
		}
	}
	if status.Code(err) != codes.InvalidArgument || strings.Join(paths, ",") != "scenario.deployment.tensor_parallel" {
		t.Errorf("got %v at %v", err, paths)
	}
}

func TestTokens(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("ci 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := foretokend(t, "--write_tokens_file="+tokens, "--require_token_to_read")
	for token, want := range map[string]codes.Code{
		"0123456789abcdef": codes.OK, "": codes.Unauthenticated, "0123456789abcdeX": codes.Unauthenticated,
	} {
		if _, err := estimate(t, address, Options{Token: token}); status.Code(err) != want {
			t.Errorf("token %q: got %v, want %v", token, err, want)
		}
	}
}

func TestTLS(t *testing.T) {
	certificates := newCertificates(t)
	address := foretokend(t, "--tls_cert_file="+certificates.cert, "--tls_key_file="+certificates.key,
		"--tls_client_ca_file="+certificates.cert)
	pair, err := tls.LoadX509KeyPair(certificates.cert, certificates.key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pem, _ := os.ReadFile(certificates.cert)
	pool.AppendCertsFromPEM(pem)
	if _, err := estimate(t, address, Options{TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}); err != nil {
		t.Error(err)
	}
	for name, config := range map[string]*tls.Config{
		"plain text": nil, "no certificate": {RootCAs: pool}, "unknown authority": {Certificates: []tls.Certificate{pair}},
	} {
		if _, err := estimate(t, address, Options{TLS: config}); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	client := v1.NewEstimatorServiceClient(dial(t, foretokend(t), Options{}))
	numbers := &v1.SweepAxis_Linear{Linear: &v1.Range{Start: 1, Stop: 2000, Count: 2000}}
	request := &v1.SweepRequest{Base: scenario(), Axes: []*v1.SweepAxis{
		{Field: "workload.prompt_tokens", Values: numbers}, {Field: "workload.output_tokens", Values: numbers}}}
	for name, want := range map[string]codes.Code{"deadline": codes.DeadlineExceeded, "cancellation": codes.Canceled} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		if want == codes.Canceled {
			cancel()
			ctx, cancel = context.WithCancel(context.Background())
		}
		stream, err := client.Sweep(ctx, request)
		for began := time.Now(); err == nil; _, err = stream.Recv() {
			if want == codes.Canceled {
				cancel()
			}
			if time.Since(began) > 30*time.Second {
				t.Fatal("the sweep goes on")
			}
		}
		if status.Code(err) != want {
			t.Errorf("%s: got %v", name, err)
		}
		cancel()
	}
}

func TestRank(t *testing.T) {
	engines := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			fmt.Fprint(w, "vllm:num_requests_running 200\nvllm:num_requests_waiting 40\nvllm:kv_cache_usage_perc 0.9\n")
		case "/idle":
			fmt.Fprint(w, "sglang:num_running_reqs 1\nsglang:num_queue_reqs 0\nsglang:token_usage 0.01\n")
		}
	}))
	defer engines.Close()
	client := v1.NewEstimatorServiceClient(dial(t, foretokend(t), Options{}))
	var candidates []*v1.Candidate
	for _, replica := range []struct{ name, engine, hardware string }{
		{"busy", "vllm", h100}, {"idle", "sglang", h100}, {"idle", "vllm", "nix"},
	} {
		load, err := Scrape(soon(t), engines.Client(), engines.URL+"/"+replica.name)
		if err != nil {
			t.Fatal(err)
		}
		load.MaxNumSeqs = proto.Int32(256)
		candidates = append(candidates, &v1.Candidate{
			Hardware: &v1.Candidate_HardwareId{HardwareId: replica.hardware}, LiveLoad: load,
			Deployment: &v1.Deployment{Engine: replica.engine}})
	}
	choices, err := Rank(soon(t), client, scenario(), candidates, v1.RankBy_RANK_BY_TTFT)
	if err != nil || len(choices) != 3 {
		t.Fatalf("got %v, %v", choices, err)
	}
	if choices[0].Index != 1 || choices[1].Index != 0 || choices[0].Estimate.Ttft.Seconds >= choices[1].Estimate.Ttft.Seconds {
		t.Errorf("the idle replica is not the first: %v", choices)
	}
	if choices[2].Index != 2 || status.Code(choices[2].Err) != codes.NotFound {
		t.Errorf("got %v of unknown hardware", choices[2].Err)
	}
	if choices, err = Rank(soon(t), client, scenario(), candidates, v1.RankBy_RANK_BY_UNSPECIFIED); err != nil || choices[0].Index != 0 {
		t.Errorf("unranked: got %v, %v", choices, err)
	}
	if _, err := Rank(soon(t), client, scenario(), nil, v1.RankBy_RANK_BY_TTFT); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no candidates: got %v", err)
	}
}
