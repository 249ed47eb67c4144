package foretoken

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // asks the health service, which the service config names
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	v1 "github.com/foretoken/foretoken/client/go/foretoken/v1"
)

// A batch of 1,000 estimates with operators is more than the 4 MiB that gRPC allows by itself.
const maxReceiveBytes = 64 << 20

// Options of a connection; the zero value is plain text without a token.
type Options struct {
	// TLS encrypts; nil: plain text.
	TLS *tls.Config
	// Token is sent with every call, in plain text too: whoever can read the network then has it.
	Token string
	// Author of writes to the catalog, where the server knows nothing better of the caller.
	Author string
}

// Dial connects to "host:port", to all addresses of a name ("dns:///name:port"), or to a list
// ("10.0.0.7:50051,10.0.0.8:50051"). Calls go to the addresses in turn, to those alone whose health service says
// SERVING. It connects on first use.
//
// A call that only reads is tried up to four times while the server is unavailable. A write is tried once. Neither has a
// deadline but the context's.
func Dial(target string, options Options, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	dialOptions := []grpc.DialOption{
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceiveBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Minute},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithPerRPCCredentials(caller{options.Token, options.Author}),
	}
	if options.TLS != nil {
		dialOptions = append(dialOptions, grpc.WithTransportCredentials(credentials.NewTLS(options.TLS)))
	} else { // a proxy could read plain text
		dialOptions = append(dialOptions, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	}
	if strings.Contains(target, ",") {
		list := listOf(strings.Split(target, ","))
		dialOptions = append(dialOptions, grpc.WithResolvers(list))
		target = list.Scheme() + ":///replicas"
	}
	return grpc.NewClient(target, append(dialOptions, more...)...)
}

// listOf resolves to fixed addresses, each under its own name.
func listOf(addresses []string) *manual.Resolver {
	list := manual.NewBuilderWithScheme("foretoken")
	state := resolver.State{}
	for _, address := range addresses {
		address = strings.TrimSpace(address)
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		state.Addresses = append(state.Addresses, resolver.Address{Addr: address, ServerName: host})
	}
	list.InitialState(state)
	return list
}

// serviceConfig is the JSON that tells gRPC how to balance and what to retry. CANCELLED is what a call gets that a server
// dropped unread as it ended; gRPC retries no call that its own caller cancelled.
func serviceConfig() string {
	config, err := json.Marshal(map[string]any{
		"loadBalancingConfig": []any{map[string]any{"round_robin": struct{}{}}},
		"healthCheckConfig":   map[string]string{"serviceName": "foretoken.v1.EstimatorService"},
		"methodConfig": []any{map[string]any{
			"name": reads(),
			"retryPolicy": map[string]any{
				"maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 2,
				"retryableStatusCodes": []string{"UNAVAILABLE", "CANCELLED"},
			},
		}},
	})
	if err != nil {
		panic(err) // constants only
	}
	return string(config)
}

// reads names the methods that the API marks as free of side effects.
func reads() []map[string]string {
	var names []map[string]string
	for _, file := range []protoreflect.FileDescriptor{
		v1.File_foretoken_v1_estimator_service_proto, v1.File_foretoken_v1_catalog_service_proto,
	} {
		service := file.Services().Get(0)
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			options, _ := method.Options().(*descriptorpb.MethodOptions)
			if options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
				names = append(names, map[string]string{"service": string(service.FullName()), "method": string(method.Name())})
			}
		}
	}
	return names
}

// caller says who calls.
type caller struct{ token, author string }

func (c caller) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	metadata := map[string]string{}
	if c.token != "" {
		metadata["authorization"] = "Bearer " + c.token
	}
	if c.author != "" {
		metadata["foretoken-author"] = c.author
	}
	return metadata, nil
}

func (caller) RequireTransportSecurity() bool { return false }
