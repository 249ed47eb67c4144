"""Uses stubs that buf made."""
from foretoken.v1 import estimator_service_pb2

refused = estimator_service_pb2.CandidateResult()
refused.status.message = "started"
print(refused.status.message)
