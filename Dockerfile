# docker build -t perf_event_exporter .
# docker run --cap-add PERFMON --cgroupns host -p 10173:10173 \
#   -v /sys:/host/sys:ro perf_event_exporter --path.sysfs=/host/sys --path.cgroupfs=/host/sys/fs/cgroup

FROM debian:bookworm-slim AS build
WORKDIR /source
COPY packaging/packages/build.txt packaging/packages/
RUN apt-get update \
 && sed 's/#.*//' packaging/packages/build.txt \
  | xargs apt-get install -y --no-install-recommends libcap2-bin \
 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset release -DPEX_TESTS=OFF -DPEX_BENCHMARKS=OFF \
      -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_SYSCONFDIR=/etc \
 && cmake --build --preset release --target perf_event_exporter \
 && DESTDIR=/image cmake --install build/release --strip
# For a user who is not root. The container does not start where the capability is withheld.
RUN setcap cap_perfmon=ep /image/usr/bin/perf_event_exporter

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="perf_event_exporter" \
      org.opencontainers.image.description="Per-CPU and per-cgroup perf_event counters for Prometheus" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY packaging/packages/run.txt /tmp/
RUN apt-get update \
 && sed 's/#.*//' /tmp/run.txt | xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /tmp/run.txt
COPY --from=build /image /
USER 65534
EXPOSE 10173
ENTRYPOINT ["/usr/bin/perf_event_exporter"]
