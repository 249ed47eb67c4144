"""Bad requests, sent to a server that goes on serving."""

from dataclasses import dataclass

from support.foretoken_api import Refused
from support.server_process import ServerTestCase

SWEEP = "EstimatorService/Sweep"


@dataclass
class Case:
    name: str
    path: str
    request: dict
    code: str
    reason: str
    field: str  # "" where no field is at fault


class BadRequestTestCase(ServerTestCase):
    def refusal(self, path, request):
        with self.assertRaises(Refused) as refused:
            if path == SWEEP:
                list(self.server.client.stream(path, **request)[1])
            else:
                self.server.client.call(path, **request)
        return refused.exception

    def check(self, cases):
        for case in cases:
            with self.subTest(case.name):
                refused = self.refusal(case.path, case.request)
                self.assertEqual((refused.code.name, refused.reason), (case.code, case.reason), refused)
                self.assertEqual(refused.domain, "foretoken.v1")
                self.assertTrue(refused.message)
                if case.field is not None:
                    self.assertIn(case.field, refused.fields, refused)
        self.assertEqual(self.server.client.health(), 1)
