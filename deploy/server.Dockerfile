# foretokend with its embedded catalog. Build from the top of the tree:
#   docker build -f deploy/server.Dockerfile -t foretokend .
# It serves over TLS with what is mounted: /etc/foretoken/tls (tls.crt, tls.key, ca.crt) and
# /etc/foretoken/tokens/writers, as deploy/compose/make-secrets makes them. The certificate also names localhost, where
# the health check calls.
#   docker run -p 127.0.0.1:50051:50051 -v foretoken:/var/lib/foretoken \
#     -v $PWD/deploy/compose/secrets/replica:/etc/foretoken:ro foretokend
# In plain text, where everybody who reaches it may read and write; the flags take the place of all of CMD:
#   docker run -p 127.0.0.1:50051:50051 -e FORETOKEN_CA_FILE= foretokend --listen=0.0.0.0:50051 --insecure \
#     --catalog_store=memory:
FROM docker.io/library/debian:bookworm-slim AS build
WORKDIR /src
COPY deploy/install-packages deploy/packages.txt deploy/
RUN deploy/install-packages build && rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt CMakePresets.json ./
COPY proto proto
COPY text text
COPY local local
COPY estimator estimator
COPY catalogs catalogs
COPY server server
COPY client client
RUN cmake --preset release -DFORETOKEN_TESTS=OFF \
    && cmake --build --preset release --target foretokend foretoken \
    && strip build/release/foretokend build/release/foretoken

FROM docker.io/library/debian:bookworm-slim
LABEL org.opencontainers.image.title="foretokend" \
      org.opencontainers.image.description="Tells how long an LLM request will take on given hardware" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
COPY deploy/install-packages deploy/packages.txt /tmp/deploy/
RUN /tmp/deploy/install-packages server client && rm -rf /tmp/deploy /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home foretoken \
    && install -d -o foretoken -g foretoken /var/lib/foretoken
COPY --from=build /src/build/release/foretokend /src/build/release/foretoken /usr/local/bin/
USER 10001
VOLUME /var/lib/foretoken
EXPOSE 50051 9464
# What `foretoken health` calls.
ENV FORETOKEN_SERVER=localhost:50051 FORETOKEN_CA_FILE=/etc/foretoken/tls/ca.crt
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["foretoken", "health"]
ENTRYPOINT ["foretokend"]
CMD ["--listen=0.0.0.0:50051", "--metrics_listen=0.0.0.0:9464", "--tls_cert_file=/etc/foretoken/tls/tls.crt", \
     "--tls_key_file=/etc/foretoken/tls/tls.key", "--write_tokens_file=/etc/foretoken/tokens/writers", \
     "--catalog_store=sqlite:/var/lib/foretoken/catalog.db"]
