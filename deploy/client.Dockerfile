# The command line foretoken. Build from the top of the tree:
#   docker build -f deploy/client.Dockerfile -t foretoken .
#   docker run --network host foretoken health
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
    && cmake --build --preset release --target foretoken \
    && strip build/release/foretoken

FROM docker.io/library/debian:bookworm-slim
LABEL org.opencontainers.image.title="foretoken" \
      org.opencontainers.image.description="Command line of foretokend" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
COPY deploy/install-packages deploy/packages.txt /tmp/deploy/
RUN /tmp/deploy/install-packages client && rm -rf /tmp/deploy /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home foretoken
COPY --from=build /src/build/release/foretoken /usr/local/bin/
USER 10001
HEALTHCHECK NONE
ENTRYPOINT ["foretoken"]
CMD ["--help"]
