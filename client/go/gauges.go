package foretoken

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/foretoken/foretoken/client/go/foretoken/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Longer texts of metrics are refused.
const maxMetricsBytes = 16 << 20

// field of LiveLoad that a gauge tells.
type field int

const (
	running field = iota
	waiting
	usage
	blockTokens
)

// gauges that are read: those of client/gauges.cc, where their sources are named, and of docs/live-load.md.
var gauges = map[string]field{
	"vllm:num_requests_running":                        running,
	"vllm:num_requests_waiting":                        waiting,
	"vllm:kv_cache_usage_perc":                         usage,
	"vllm:gpu_cache_usage_perc":                        usage,
	"vllm:cache_config_info":                           blockTokens,
	"sglang:num_running_reqs":                          running,
	"sglang:num_queue_reqs":                            waiting,
	"sglang:token_usage":                               usage,
	"trtllm_num_requests_running":                      running,
	"trtllm_num_requests_waiting":                      waiting,
	"trtllm_kv_cache_utilization":                      usage,
	"llamacpp:requests_processing":                     running,
	"llamacpp:requests_deferred":                       waiting,
	"llamacpp:kv_cache_usage_ratio":                    usage,
	"dynamo_component_kvstats_gpu_cache_usage_percent": usage,
}

// Scrape reads the live load of a replica from the metrics of its engine, as "http://replica:8000/metrics". A router
// scrapes in the background, every second or so, and not before each request: the load says when it was observed.
func Scrape(ctx context.Context, client *http.Client, url string) (*v1.LiveLoad, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	observed := time.Now()
	reply, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: HTTP status %s", url, reply.Status)
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxMetricsBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	load, err := LiveLoadOf(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	load.TimeObserved = timestamppb.New(observed)
	return load, nil
}

// LiveLoadOf reads the Prometheus text format of vLLM, SGLang, TensorRT-LLM (trtllm-serve), llama.cpp or Dynamo. Counts
// of several series of one gauge (data-parallel ranks) are added up, and shares are averaged. What is not there stays
// absent; no engine tells how it was started: set MaxNumSeqs and MaxNumBatchedTokens.
//
// Errors: no known gauge; a gauge that is negative or no number; a text of more than 16 MiB.
func LiveLoadOf(metrics string) (*v1.LiveLoad, error) {
	if len(metrics) > maxMetricsBytes {
		return nil, fmt.Errorf("metrics of %d bytes; allowed: at most %d", len(metrics), maxMetricsBytes)
	}
	read := map[field][]float64{}
	for line := range strings.Lines(metrics) {
		name, labels, value, ok := parse(strings.TrimRight(line, "\n"))
		if !ok {
			continue
		}
		of, known := gauges[name]
		if !known {
			continue
		}
		if of == blockTokens {
			if value = label(labels, "block_size"); math.IsNaN(value) {
				continue // told later, or never
			}
		}
		if !(value >= 0) || value > 1e15 {
			return nil, fmt.Errorf("%s is %v; allowed: a number of at least 0", name, value)
		}
		read[of] = append(read[of], value)
	}
	if len(read) == 0 {
		known := slices.Sorted(maps.Keys(gauges))
		return nil, fmt.Errorf("no gauge of a known engine in the metrics; known: %s", strings.Join(known, ", "))
	}
	return loadOf(read), nil
}

func loadOf(read map[field][]float64) *v1.LiveLoad {
	load := &v1.LiveLoad{}
	sum := func(values []float64) (total float64) {
		for _, value := range values {
			total += value
		}
		return total
	}
	count := func(values []float64) *int32 { return proto.Int32(int32(min(1e9, sum(values)))) }
	if values := read[running]; values != nil {
		load.RunningSequences = count(values)
	}
	if values := read[waiting]; values != nil {
		load.WaitingRequests = count(values)
	}
	if values := read[blockTokens]; values != nil {
		load.KvBlockTokens = proto.Int32(int32(min(1e8, values[0])))
	}
	if values := read[usage]; values != nil {
		load.KvCacheUsageRatio = proto.Float64(min(1, sum(values)/float64(len(values))))
	}
	return load
}

// parse reads one line of the text: name{labels} value, and perhaps a time.
func parse(line string) (name, labels string, value float64, ok bool) {
	end := strings.IndexAny(line, "{ ")
	if end < 0 || line[0] == '#' {
		return "", "", 0, false
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		last := strings.LastIndexByte(rest, '}')
		if last < 0 {
			return "", "", 0, false
		}
		labels, rest = rest[1:last], rest[last+1:]
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return "", "", 0, false
	}
	return name, labels, number(words[0]), true
}

// label is the number in a label as block_size="16"; NaN where there is none.
func label(labels, name string) float64 {
	_, rest, found := strings.Cut(labels, name+`="`)
	if !found {
		return math.NaN()
	}
	text, _, _ := strings.Cut(rest, `"`)
	return number(text)
}

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return value
}
