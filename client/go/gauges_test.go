package foretoken

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	vllmMetrics = `# HELP vllm:num_requests_running Running.
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:cache_config_info{block_size="32",num_gpu_blocks="100"} 1.0
`
	sglangMetrics = `sglang:num_running_reqs{model_name="m"} 4
sglang:num_queue_reqs{model_name="m"} 0
sglang:token_usage{model_name="m"} 0.5`
)

// textOf is a load in one line, by the numbers of its fields, or the error.
func textOf(metrics string) string {
	load, err := LiveLoadOf(metrics)
	if err != nil {
		return err.Error()
	}
	var fields []string
	descriptors := load.ProtoReflect().Descriptor().Fields()
	for i := range descriptors.Len() {
		field := descriptors.Get(i)
		if load.ProtoReflect().Has(field) {
			fields = append(fields, fmt.Sprintf("%s: %v", field.Name(), value(load, field)))
		}
	}
	return strings.Join(fields, " ")
}

func value(load proto.Message, field protoreflect.FieldDescriptor) any {
	return load.ProtoReflect().Get(field).Interface()
}

// The cases of tests/client/gauges_test.cc.
func TestLiveLoadOf(t *testing.T) {
	for _, c := range []struct{ name, metrics, want string }{
		{"vLLM", vllmMetrics, "running_sequences: 3 waiting_requests: 2 kv_block_tokens: 32 kv_cache_usage_ratio: 0.25"},
		{"SGLang", sglangMetrics, "running_sequences: 4 waiting_requests: 0 kv_cache_usage_ratio: 0.5"},
		{"TensorRT-LLM", "trtllm_num_requests_running 5\ntrtllm_num_requests_waiting 6\ntrtllm_kv_cache_utilization 1\n",
			"running_sequences: 5 waiting_requests: 6 kv_cache_usage_ratio: 1"},
		{"llama.cpp", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 7\n", "running_sequences: 1 waiting_requests: 7"},
		{"ranks", "vllm:num_requests_running{engine=\"0\"} 3 1700000000000\nvllm:num_requests_running{engine=\"1\"} 5\n" +
			"vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.3\n",
			"running_sequences: 8 kv_cache_usage_ratio: 0.25"},
		{"a brace in a label", `vllm:num_requests_running{a="}",b="x"} 3`, "running_sequences: 3"},
		{"Windows", "vllm:num_requests_running 3\r\n", "running_sequences: 3"},
	} {
		if got := textOf(c.metrics); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLiveLoadOfRefuses(t *testing.T) {
	for metrics, want := range map[string]string{
		"":                                     "no gauge of a known engine in the metrics; known: dynamo",
		"go_goroutines 5\n":                    "vllm:num_requests_running",
		"vllm:num_requests_running -1\n":       "vllm:num_requests_running is -1; allowed: a number of at least 0",
		"vllm:num_requests_running NaN\n":      "allowed: a number of at least 0",
		"vllm:num_requests_running x\n":        "allowed: a number of at least 0",
		strings.Repeat("x", maxMetricsBytes+1): "allowed: at most",
	} {
		if got := textOf(metrics); !strings.Contains(got, want) {
			t.Errorf("%.40q: got %q, want %q", metrics, got, want)
		}
	}
}

func TestLiveLoadOfTakesWhatIsCut(t *testing.T) {
	for size := range vllmMetrics {
		_, _ = LiveLoadOf(vllmMetrics[:size]) // no panic
	}
}

// The client in C++ reads the same gauges into the same fields.
func TestGaugesAreThoseOfTheClientInCpp(t *testing.T) {
	source, err := os.ReadFile("../gauges.cc")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]field{"kRunning": running, "kWaiting": waiting, "kUsage": usage, "kBlock": blockTokens}
	rows := regexp.MustCompile(`\{"[^"]+", "([^"]+)", (k\w+)\}`).FindAllStringSubmatch(string(source), -1)
	if len(rows) != len(gauges) {
		t.Errorf("%d gauges here, %d there", len(gauges), len(rows))
	}
	for _, row := range rows {
		if of, known := gauges[row[1]]; !known || of != fields[row[2]] {
			t.Errorf("%s is %s there", row[1], row[2])
		}
	}
}

func TestScrape(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			fmt.Fprint(w, vllmMetrics)
		case "/slow":
			<-r.Context().Done()
		case "/other":
			fmt.Fprint(w, "go_goroutines 5\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer engine.Close()
	load, err := Scrape(context.Background(), engine.Client(), engine.URL+"/metrics")
	if err != nil || load.GetRunningSequences() != 3 || time.Since(load.TimeObserved.AsTime()) > time.Minute {
		t.Errorf("got %v, %v", load, err)
	}
	for path, want := range map[string]string{
		"/nothing": "HTTP status 404", "/other": "no gauge of a known engine", "/slow": "context deadline exceeded",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if _, err := Scrape(ctx, engine.Client(), engine.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
		cancel()
	}
}
