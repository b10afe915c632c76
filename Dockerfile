#   docker build -t perf_event_exporter .
#   docker run -d -p 127.0.0.1:10173:10173 --cap-drop=ALL --cap-add=PERFMON --read-only \
#     --security-opt=no-new-privileges -v /sys:/host/sys:ro perf_event_exporter --path.sysfs=/host/sys
#
# What each option is for, and other engines: docs/containers.md.

# Debian 12 of a day, by the digest of its index of all architectures. Renew both together. For
# another base, by its tag alone: BASE=docker.io/library/debian:trixie-slim and an empty BASE_DIGEST.
ARG BASE=docker.io/library/debian:bookworm-20260918-slim
ARG BASE_DIGEST=sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
ARG VERSION=0.1.0
FROM ${BASE}${BASE_DIGEST:+@$BASE_DIGEST} AS build
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /source
COPY packaging/dependencies/names.sh packaging/dependencies/build.txt packaging/dependencies/test.txt \
  packaging/dependencies/
RUN apt-get update \
 && packaging/dependencies/names.sh build test \
  | xargs apt-get install -y --no-install-recommends binutils libcap2-bin \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

# The program, of what it is made of and nothing else: documents and tests do not build it anew.
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY config config
COPY lib lib
COPY daemon daemon
COPY packaging/kubernetes packaging/kubernetes
ARG REVISION=
RUN --mount=type=cache,id=ccache,target=/root/.cache/ccache \
    cmake --preset release -DPEX_TESTS=OFF -DPEX_REVISION="$REVISION" \
 && cmake --build --preset release --target perf_event_exporter \
 && install -D --strip build/release/daemon/perf_event_exporter /image/usr/bin/perf_event_exporter \
 && install -D -m 644 config/perf_event_exporter.yaml \
      /image/etc/perf_event_exporter/perf_event_exporter.yaml
# Permitted, and not in effect: the program takes it into use itself, and starts where it is withheld.
RUN setcap cap_perfmon=p /image/usr/bin/perf_event_exporter
# Parts of what it was compiled with are in it: for the bill of materials below.
COPY packaging/container/sbom.sh packaging/container/
RUN packaging/dependencies/names.sh build | xargs packaging/container/sbom.sh list >/built

# The tests of what was built, on what it will run on. TESTS=none leaves them out, TESTS='base_test
# http_test' is those of some rooms.
FROM build AS tested
ARG TESTS=unit_tests
COPY . .
RUN --mount=type=cache,id=ccache,target=/root/.cache/ccache \
    [ "$TESTS" = none ] || { \
      cmake --preset release -DPEX_TESTS=ON \
   && cmake --build --preset release --target $TESTS \
   && ctest --preset release -j "$(nproc)" -FS . -L 'unit|e2e' \
        -R "$(echo $TESTS | sed -e 's/unit_tests/./' -e 's/ /|/g')"; }

FROM ${BASE}${BASE_DIGEST:+@$BASE_DIGEST} AS runtime
COPY packaging/dependencies/names.sh packaging/dependencies/run.txt /tmp/dependencies/
# Fixes since the day of the base come with it.
RUN apt-get update \
 && apt-get upgrade -y \
 && /tmp/dependencies/names.sh run | xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig/* /var/log/* /tmp/dependencies
COPY --from=tested /image /

# The bill of materials, of dpkg's database and of the program as they are in the image.
FROM runtime AS sbom
ARG VERSION
ARG CREATED=
WORKDIR /sbom
COPY packaging/container/sbom.sh packaging/dependencies/names.sh packaging/dependencies/run.txt ./
COPY --from=build /built ./
RUN ./names.sh run >linked \
 && mkdir -p /image/usr/share/doc/perf-event-exporter \
 && ./sbom.sh document "$VERSION" /usr/bin/perf_event_exporter linked built \
      >/image/usr/share/doc/perf-event-exporter/sbom.spdx.json

FROM runtime
COPY --from=sbom /image /
ARG BASE
ARG BASE_DIGEST
ARG VERSION
# What the machine that builds knows: the commit, the time (RFC 3339) and where the source is.
ARG REVISION=
ARG CREATED=
ARG SOURCE=
LABEL org.opencontainers.image.title="perf_event_exporter" \
      org.opencontainers.image.description="Per-CPU and per-cgroup perf_event counters for Prometheus" \
      org.opencontainers.image.authors="The perf_event_exporter authors" \
      org.opencontainers.image.vendor="The perf_event_exporter authors" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED" \
      org.opencontainers.image.url="$SOURCE" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.documentation="$SOURCE" \
      org.opencontainers.image.base.name="$BASE" \
      org.opencontainers.image.base.digest="$BASE_DIGEST"
# How far each start came: after crashes the exporter counts less.
RUN install -d -o 65534 -g 65534 /var/lib/perf_event_exporter
ENV STATE_DIRECTORY=/var/lib/perf_event_exporter
# By number, so that Kubernetes can tell that it is not root.
USER 65534:65534
EXPOSE 10173
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/usr/bin/perf_event_exporter", "health"]
ENTRYPOINT ["/usr/bin/perf_event_exporter"]
