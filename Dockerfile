# syntax=docker/dockerfile:1
#
#   docker build -t perf_event_exporter .
#   docker run -d -p 127.0.0.1:10173:10173 --cap-drop=ALL --cap-add=PERFMON --read-only \
#     --security-opt=no-new-privileges -v /sys:/host/sys:ro perf_event_exporter --path.sysfs=/host/sys
#
# What each option is for, and other engines: docs/containers.md.

ARG DEBIAN=bookworm
FROM debian:${DEBIAN}-slim AS build
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /source
COPY packaging/packages/names.sh packaging/packages/build.txt packaging/packages/test.txt \
  packaging/packages/
RUN apt-get update \
 && packaging/packages/names.sh build test \
  | xargs apt-get install -y --no-install-recommends binutils libcap2-bin \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

# The program, of what it is made of and nothing else: documents and tests do not build it anew.
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY config config
COPY lib lib
COPY daemon daemon
RUN --mount=type=cache,id=ccache,target=/root/.cache/ccache \
    cmake --preset release \
 && cmake --build --preset release --target perf_event_exporter \
 && install -D --strip build/release/daemon/perf_event_exporter /image/usr/bin/perf_event_exporter \
 && install -D -m 644 config/perf_event_exporter.yaml \
      /image/etc/perf_event_exporter/perf_event_exporter.yaml
# Permitted, and not in effect: the program takes it into use itself, and starts where it is withheld.
RUN setcap cap_perfmon=p /image/usr/bin/perf_event_exporter

# The tests of what was built, on what it will run on. TESTS=none leaves them out, TESTS='base_test
# http_test' is those of some rooms. How good estimates are does not depend on where they are made, and
# which tests there are, not either.
FROM build AS tested
ARG TESTS=all
COPY . .
RUN --mount=type=cache,id=ccache,target=/root/.cache/ccache \
    [ "$TESTS" = none ] || { \
      cmake --preset release -DPEX_TESTS=ON \
   && cmake --build --preset release --target $TESTS \
   && ctest --test-dir build/release --output-on-failure -j "$(nproc)" -L 'unit|e2e|layout' \
        -E '^(accuracy|layout.needs)'; }

FROM debian:${DEBIAN}-slim
COPY packaging/packages/names.sh packaging/packages/run.txt /tmp/packages/
RUN apt-get update \
 && /tmp/packages/names.sh run | xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig/* /var/log/* /tmp/packages
COPY --from=tested /image /
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="perf_event_exporter" \
      org.opencontainers.image.description="Per-CPU and per-cgroup perf_event counters for Prometheus" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
# By number, so that Kubernetes can tell that it is not root.
USER 65534:65534
EXPOSE 10173
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/usr/bin/perf_event_exporter", "health"]
ENTRYPOINT ["/usr/bin/perf_event_exporter"]
