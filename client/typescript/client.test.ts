// Against a real server: FORETOKEND names its binary. Each test starts its own.
import assert from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { status, type ServiceError } from '@grpc/grpc-js';
import { connect, estimate, fieldsOf, type Options } from './client.ts';
import type { EstimateRequest } from './types/foretoken/v1/EstimateRequest.ts';

const ASKED: EstimateRequest = {
  scenario: { model_id: 'llama-3.1-8b', hardware_id: 'nvidia-h100-sxm-80gb', workload: { prompt_tokens: 2048, output_tokens: 256 } },
};

async function serve(t: TestContext, ...flags: string[]): Promise<string> {
  const port: number = await new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
  const address = `127.0.0.1:${port}`;
  const server = spawn(process.env.FORETOKEND!, [`--listen=${address}`, '--metrics_listen=127.0.0.1:0', '--catalog_store=memory:', ...flags], { stdio: 'ignore' });
  t.after(() => server.kill('SIGKILL'));
  for (let tries = 0; tries < 500 && !(await listens(port)); tries++) await wait(20);
  return address;
}

const listens = (port: number) => new Promise<boolean>((resolve) => {
  const probe = createConnection(port, '127.0.0.1', () => { probe.destroy(); resolve(true); });
  probe.on('error', () => resolve(false));
});

async function ask(t: TestContext, address: string, options: Options = {}, request = ASKED, seconds = 5): Promise<ServiceError | number> {
  const client = connect(address, options);
  t.after(() => client.close());
  try {
    return (await estimate(client, request, seconds)).estimate!.ttft!.seconds;
  } catch (error) {
    return error as ServiceError;
  }
}

const codeOf = (answer: ServiceError | number) => (typeof answer === 'number' ? status.OK : answer.code);

test('an estimate', async (t) => {
  const ttft = await ask(t, await serve(t));
  assert.ok(typeof ttft === 'number' && ttft > 0, String(ttft));
});

test('absent is not zero', async (t) => {
  const client = connect(await serve(t));
  t.after(() => client.close());
  const reply = await estimate(client, ASKED);
  assert.strictEqual(reply.estimate!.compute_limited_ttft_seconds, undefined);
  assert.strictEqual(reply.estimate!.slo_verdict, null);
});

test('a refusal names its fields', async (t) => {
  const wrong = { scenario: { ...ASKED.scenario, deployment: { tensor_parallel: 0 } } };
  const error = await ask(t, await serve(t), {}, wrong) as ServiceError;
  assert.strictEqual(error.code, status.INVALID_ARGUMENT);
  assert.deepStrictEqual(fieldsOf(error).map((one) => one.field), ['scenario.deployment.tensor_parallel']);
});

test('tokens', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'foretoken-')), 'tokens');
  writeFileSync(file, 'ci 0123456789abcdef\n');
  const address = await serve(t, `--write_tokens_file=${file}`, '--require_token_to_read');
  assert.strictEqual(codeOf(await ask(t, address, { token: '0123456789abcdef' })), status.OK);
  assert.strictEqual(codeOf(await ask(t, address)), status.UNAUTHENTICATED);
  assert.strictEqual(codeOf(await ask(t, address, { token: '0123456789abcdeX' })), status.UNAUTHENTICATED);
});

test('TLS', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'foretoken-'));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=tester', '-addext',
    'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const address = await serve(t, `--tls_cert_file=${cert}`, `--tls_key_file=${key}`);
  assert.strictEqual(codeOf(await ask(t, address, { tls: { ca: readFileSync(cert) } })), status.OK);
  assert.notStrictEqual(codeOf(await ask(t, address, {}, ASKED, 1)), status.OK);
});

test('a deadline and a cancellation end a sweep', async (t) => {
  const client = connect(await serve(t));
  t.after(() => client.close());
  const numbers = { linear: { start: 1, stop: 2000, count: 2000 } };
  const request = { base: ASKED.scenario, axes: [{ field: 'workload.prompt_tokens', ...numbers }, { field: 'workload.output_tokens', ...numbers }] };
  const endOf = (deadline: number, cancel: boolean) => new Promise<number>((resolve) => {
    const stream = client.Sweep(request, { deadline });
    stream.on('data', () => { if (cancel) stream.cancel(); });
    stream.on('error', (error: ServiceError) => resolve(error.code));
    stream.on('end', () => resolve(status.OK));
  });
  assert.strictEqual(await endOf(Date.now() + 100, false), status.DEADLINE_EXCEEDED);
  assert.strictEqual(await endOf(Date.now() + 30000, true), status.CANCELLED);
});
