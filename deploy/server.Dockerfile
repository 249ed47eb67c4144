# foretokend with its embedded catalog. Build from the top of the tree:
#   docker build -f deploy/server.Dockerfile -t foretokend .
#   docker run -p 127.0.0.1:50051:50051 -v foretoken:/var/lib/foretoken foretokend
FROM docker.io/library/debian:bookworm-slim AS build
WORKDIR /src
COPY deploy/install-packages deploy/packages.txt deploy/
RUN deploy/install-packages build && rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt CMakePresets.json ./
COPY proto proto
COPY text text
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
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["foretoken", "health"]
ENTRYPOINT ["foretokend"]
CMD ["--listen=0.0.0.0:50051", "--metrics_listen=0.0.0.0:9464", "--catalog_store=sqlite:/var/lib/foretoken/catalog.db"]
