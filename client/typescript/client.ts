// A client of foretoken, of which a project takes what it needs: a connection with retries, a token and TLS, calls as
// promises, and the fields at fault of a refusal.
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import * as loader from '@grpc/proto-loader';
import type { ProtoGrpcType } from './types/estimator_service.ts';
import type { ProtoGrpcType as Details } from './types/error_details.ts';
import type { EstimatorServiceClient } from './types/foretoken/v1/EstimatorService.ts';
import type { EstimateRequest } from './types/foretoken/v1/EstimateRequest.ts';
import type { EstimateResponse__Output } from './types/foretoken/v1/EstimateResponse.ts';

const PROTO = fileURLToPath(new URL('proto', import.meta.url));
const loaded = loader.loadSync(['foretoken/v1/estimator_service.proto', 'google/rpc/error_details.proto'], {
  includeDirs: [PROTO], keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true,
});
const api = grpc.loadPackageDefinition(loaded) as unknown as ProtoGrpcType & Details;

// All of EstimatorService only reads, so each of its calls may be repeated.
const SERVICE_CONFIG = JSON.stringify({
  loadBalancingConfig: [{ round_robin: {} }],
  methodConfig: [{
    name: [{ service: 'foretoken.v1.EstimatorService' }],
    retryPolicy: {
      maxAttempts: 4, initialBackoff: '0.05s', maxBackoff: '1s', backoffMultiplier: 2,
      retryableStatusCodes: ['UNAVAILABLE', 'CANCELLED'],
    },
  }],
});

export interface Options {
  tls?: { ca: Buffer; key?: Buffer; cert?: Buffer }; // absent: plain text
  token?: string; // sent in plain text too
}

export function connect(target: string, options: Options = {}): EstimatorServiceClient {
  const { tls, token } = options;
  const credentials = tls
    ? grpc.credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
    : grpc.credentials.createInsecure();
  const withToken: grpc.Interceptor = (callOptions, next) => new grpc.InterceptingCall(next(callOptions), {
    start(metadata, listener, start) {
      if (token) metadata.set('authorization', `Bearer ${token}`);
      start(metadata, listener);
    },
  });
  return new api.foretoken.v1.EstimatorService(target, credentials, {
    'grpc.service_config': SERVICE_CONFIG,
    'grpc.max_receive_message_length': 64 << 20,
    interceptors: [withToken],
  });
}

export function estimate(client: EstimatorServiceClient, request: EstimateRequest, seconds = 10): Promise<EstimateResponse__Output> {
  return new Promise((resolve, reject) => {
    client.Estimate(request, { deadline: Date.now() + 1000 * seconds }, (error, reply) => {
      if (error || !reply) reject(error);
      else resolve(reply);
    });
  });
}

// The fields at fault, each with what was asked and what is allowed.
export function fieldsOf(error: grpc.ServiceError): { field: string; description: string }[] {
  const { Status, BadRequest } = api.google.rpc;
  return error.metadata.get('grpc-status-details-bin')
    .flatMap((bytes) => Status.deserialize(bytes as Buffer).details)
    .filter((any) => any.type_url.endsWith('/google.rpc.BadRequest'))
    .flatMap((any) => BadRequest.deserialize(any.value as Buffer).field_violations);
}
