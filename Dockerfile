# An image of the package: `npm pack`, then `docker build -t wherry .`; docs/containers.md tells how it is used.
# BASE is an image with Node, npm and a shell; node:22-alpine is smaller.
ARG BASE=node:22-bookworm-slim

FROM ${BASE} AS package
WORKDIR /opt/wherry
COPY wherry-*.tgz ./
RUN npm install --omit=dev --no-audit --no-fund --no-package-lock ./wherry-*.tgz \
  && rm wherry-*.tgz && mkdir /data && chmod 0775 /data

FROM ${BASE}
COPY --from=package /opt/wherry /opt/wherry
# Group 0, which may write there: platforms that run images as any user give it to them.
COPY --from=package --chown=1000:0 /data /data
WORKDIR /data
USER 1000
# Clusters, kubeconfigs and compiled code are below /data. The secure door and node ports listen on
# all addresses of the container: `--publish` says which of them the machine has.
ENV PATH=/opt/wherry/node_modules/.bin:${PATH} \
  HOME=/data \
  XDG_DATA_HOME=/data \
  WHERRY_SECURE_HOST=0.0.0.0 \
  WHERRY_NODE_PORT_HOST=0.0.0.0
EXPOSE 6443
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.WHERRY_PORT ?? 8080}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["wherry"]
CMD ["up"]
