package foretoken

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	v1 "github.com/foretoken/foretoken/client/go/foretoken/v1"
)

// fake ends each call with the next of its codes, then answers.
type fake struct {
	v1.UnimplementedCatalogServiceServer
	mutex    sync.Mutex
	codes    []codes.Code
	calls    int
	metadata metadata.MD
}

func (f *fake) next(ctx context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calls++
	f.metadata, _ = metadata.FromIncomingContext(ctx)
	if len(f.codes) == 0 {
		return nil
	}
	code := f.codes[0]
	f.codes = f.codes[1:]
	return status.Error(code, "not now")
}

func (f *fake) GetCatalogStatus(ctx context.Context, _ *v1.GetCatalogStatusRequest) (*v1.GetCatalogStatusResponse, error) {
	return &v1.GetCatalogStatusResponse{}, f.next(ctx)
}

func (f *fake) DeleteHardware(ctx context.Context, _ *v1.DeleteHardwareRequest) (*v1.DeleteHardwareResponse, error) {
	return &v1.DeleteHardwareResponse{}, f.next(ctx)
}

// serve starts a server and returns its address.
func serve(t *testing.T, f *fake) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	v1.RegisterCatalogServiceServer(server, f)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func dial(t *testing.T, target string, options Options) *grpc.ClientConn {
	t.Helper()
	conn, err := Dial(target, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestReadsAreTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes []codes.Code
		want  codes.Code
		calls int
	}{
		{"unavailable twice", []codes.Code{codes.Unavailable, codes.Unavailable}, codes.OK, 3},
		{"dropped by a server that ends", []codes.Code{codes.Canceled}, codes.OK, 2},
		{"never available", []codes.Code{14, 14, 14, 14, 14}, codes.Unavailable, 4},
		{"refused", []codes.Code{codes.InvalidArgument}, codes.InvalidArgument, 1},
	} {
		f := &fake{codes: c.codes}
		conn := dial(t, serve(t, f), Options{})
		_, err := v1.NewCatalogServiceClient(conn).GetCatalogStatus(soon(t), &v1.GetCatalogStatusRequest{})
		if status.Code(err) != c.want || f.calls != c.calls {
			t.Errorf("%s: got %v after %d calls, want %v after %d", c.name, err, f.calls, c.want, c.calls)
		}
	}
}

func TestWritesAreTriedOnce(t *testing.T) {
	f := &fake{codes: []codes.Code{codes.Unavailable}}
	conn := dial(t, serve(t, f), Options{Author: "me", Token: "secret"})
	_, err := v1.NewCatalogServiceClient(conn).DeleteHardware(soon(t), &v1.DeleteHardwareRequest{HardwareId: "x"})
	if status.Code(err) != codes.Unavailable || f.calls != 1 {
		t.Errorf("got %v after %d calls", err, f.calls)
	}
	if got := strings.Join(append(f.metadata["authorization"], f.metadata["foretoken-author"]...), ","); got != "Bearer secret,me" {
		t.Errorf("the server saw %s", got)
	}
}

func TestEveryReadIsNamed(t *testing.T) {
	if got := len(reads()); got != 5+8 {
		t.Errorf("%d methods are tried again; the API has 5 of EstimatorService and 8 of CatalogService that only read", got)
	}
}

func TestReplicasTakeTurns(t *testing.T) {
	fakes := []*fake{{}, {}}
	conn := dial(t, serve(t, fakes[0])+","+serve(t, fakes[1]), Options{})
	client := v1.NewCatalogServiceClient(conn)
	calls := func(f *fake) int { f.mutex.Lock(); defer f.mutex.Unlock(); return f.calls }
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && (calls(fakes[0]) == 0 || calls(fakes[1]) == 0); {
		if _, err := client.GetCatalogStatus(soon(t), &v1.GetCatalogStatusRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if calls(fakes[0]) == 0 || calls(fakes[1]) == 0 {
		t.Errorf("%d calls to the first, %d to the second", calls(fakes[0]), calls(fakes[1]))
	}
}
