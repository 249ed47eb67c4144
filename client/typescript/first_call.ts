import type { ServiceError } from '@grpc/grpc-js';
import { connect, estimate, fieldsOf } from './client.ts';

const client = connect(process.env.FORETOKEN_SERVER ?? '127.0.0.1:50051');
try {
  const reply = await estimate(client, {
    scenario: {
      model_id: 'llama-3.1-8b',
      hardware_id: 'nvidia-h100-sxm-80gb',
      deployment: { engine: 'vllm' },
      workload: { prompt_tokens: 2048, output_tokens: 256 },
    },
  });
  const { ttft, tpot } = reply.estimate!;
  console.log(`TTFT ${(1000 * ttft!.seconds).toFixed(1)} ms, TPOT ${(1000 * tpot!.seconds).toFixed(2)} ms`);
} catch (error) {
  console.error((error as ServiceError).message, fieldsOf(error as ServiceError));
  process.exitCode = 1;
} finally {
  client.close();
}
