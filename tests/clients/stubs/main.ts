// Uses stubs that buf made.
import { create } from '@bufbuild/protobuf';
import { CandidateResultSchema } from './stubs/foretoken/v1/estimator_service_pb';
import { StatusSchema } from './stubs/google/rpc/status_pb';

const refused = create(CandidateResultSchema, { result: { case: 'status', value: create(StatusSchema, { message: 'started' }) } });
console.log(refused.result.case === 'status' ? refused.result.value.message : 'nothing');
