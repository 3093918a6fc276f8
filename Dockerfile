# One image for every role: arguments choose it (`controller`, `gateway`, `standalone`, or a command).
# `npm run image` builds it; scripts/image-tree.ts runs these same steps without Docker, for the tests. It knows FROM,
# WORKDIR, ENV, ARG, COPY and RUN, so a step in another form needs a look there too.
# Base images are pinned by digest; Dependabot moves tag and digest together.

# What the product needs in a pod, and nothing else. Nothing of it is compiled, so no install script runs, and it is the
# same for every processor: it is made on the one that builds. The optional package reads kubeconfigs, which a pod does not
# have; the last step removes what Node.js never loads: types, maps, and all but one of Pico's style sheets.
FROM --platform=$BUILDPLATFORM node:24.21.0-trixie-slim@sha256:173f125896c3b47ddf056734c7ea789d04595a6a08769a8f78e0df642781fb66 AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
RUN find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.scss' \) -delete
RUN find node_modules/@picocss/pico/css -type f ! -name pico.min.css -delete

FROM dependencies AS build
RUN npm ci --include=dev --include=optional --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.ts scripts/
COPY src src
RUN node scripts/build.ts

# No shell, no package manager; runs as user 65532.
FROM gcr.io/distroless/nodejs24-debian13:nonroot@sha256:9eeb7f5887d0e239e78264b06f7f11d2e14be534050481803a9e4728fcdd278e
WORKDIR /app
ENV NODE_ENV=production
COPY LICENSE package.json ./
COPY crds crds
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="Model Gateway" \
      org.opencontainers.image.description="Kubernetes operator and gateway for OpenAI-compatible model APIs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
# By number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 65532:65532
EXPOSE 8080 9090
# The heap leaves a quarter of the container's memory to what Node.js keeps outside of it: buffers and threads. Young objects
# take 48 MB besides, three times what is said here: by itself Node.js gives them 192, and stops for as much longer to collect
# them. One thread marks the heap beside the one that serves: the four that Node.js starts by itself leave that one a fifth of
# a core meanwhile. A variable, because the chart sets another share (heapPercentage), and a flag in ENTRYPOINT would win.
ENV NODE_OPTIONS="--max-old-space-size-percentage=75 --max-semi-space-size=16 --v8-pool-size=1"
# So that `node` alone can be named, as the chart's test does.
ENV PATH=/nodejs/bin:/usr/local/bin:/usr/bin:/bin
# The whole heap is not marked before it holds this many MB: by itself Node.js does so after each 8 MB of objects that grew old,
# every few seconds where streams come and go, and what is streamed meanwhile stops for 5 ms again and again. Where more is
# held, this changes nothing. NODE_OPTIONS may not hold it.
ENTRYPOINT ["/nodejs/bin/node", "--initial-old-space-size=96", "/app/dist/main.js"]
CMD ["--help"]
