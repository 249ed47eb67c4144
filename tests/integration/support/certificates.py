"""Certificates for tests of TLS, made with openssl."""

import os
import subprocess

import grpc


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Certificates:
    """An authority in `folder`, and a certificate of it for 127.0.0.1 that servers and clients show alike."""

    def __init__(self, folder, days=2):
        self.folder, self.days = folder, str(days)
        self.ca, self.ca_key, self.cert, self.key = (os.path.join(folder, name) for name in
                                                     ("ca.pem", "ca-key.pem", "cert.pem", "key.pem"))
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", self.days, "-subj", "/CN=test authority",
                "-keyout", self.ca_key, "-out", self.ca)
        self.issue("DNS:tester,IP:127.0.0.1")

    def issue(self, names):
        """A new pair in place of the last."""
        request, extensions = os.path.join(self.folder, "request.pem"), os.path.join(self.folder, "extensions")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", self.key, "-out", request)
        with open(extensions, "w", encoding="ascii") as file:
            file.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n")
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.ca_key, "-CAcreateserial", "-days", self.days,
                "-extfile", extensions, "-out", self.cert)

    def channel_credentials(self):
        def read(path):
            with open(path, "rb") as file:
                return file.read()
        return grpc.ssl_channel_credentials(read(self.ca), read(self.key), read(self.cert))
