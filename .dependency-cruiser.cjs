const { readdirSync } = require('node:fs');

/**
 * The layers, each of which may import only those before it:
 *
 *   api ← store ← registry ← extensions ← server ← cluster ← testing, program ← envtest ← cli
 *
 * `http2` is what the client of gRPC and the secure door share: frames and compressed headers.
 * `grpc` is a client that the store (etcd) and the node (container engines) share. Of `api` these use `protobuf` alone.
 * `clock` is the wall clock; `api`, `registry` and `controllers` are handed the time.
 * `streams`, `client`, `controllers`, `node` and `ingress` stand beside the server; ARCHITECTURE.md says what each must not know.
 *
 * The page, `web/`, imports nothing of `src/`: it talks to the API like any other client. Its own layers:
 *
 *   core ← ui ← views ← shell
 */
/** What every layer may import: the switches for debugging, what remembers values by object, keys of several texts, timers, the bound on interim answers, messages and lines in pieces, and which system this is. */
const everywhere = ['switches', 'memo', 'composed-key', 'timers', 'interim-answers', 'pieces', 'text-lines', 'turn-queue', 'pace', 'time-slices', 'request-trace', 'shared-bytes', 'platform'];

const may = {
  api: ['api'],
  http2: ['http2'],
  grpc: ['grpc', 'http2', 'api/protobuf'],
  store: ['store', 'grpc', 'api/protobuf', 'clock'],
  registry: ['registry', 'pki', 'store', 'api'],
  pki: ['pki', 'api', 'clock'],
  access: ['access', 'pki', 'registry', 'api', 'clock'],
  client: ['client', 'pki', 'api', 'clock'],
  streams: ['streams', 'api'],
  extensions: ['extensions', 'client', 'streams', 'pki', 'access', 'registry', 'api', 'clock'],
  server: ['server', 'http2', 'extensions', 'access', 'pki', 'streams', 'registry', 'store/store', 'api', 'clock'],
  controllers: ['controllers', 'client', 'pki', 'registry', 'api'],
  node: ['node', 'grpc', 'client', 'pki', 'streams', 'api', 'clock'],
  ingress: ['ingress', 'client', 'pki', 'streams', 'api'],
  recorder: ['recorder', 'client', 'extensions', 'server/pods/kept-log', 'registry', 'store', 'api', 'clock'],
  cluster: ['cluster', 'recorder', 'extensions', 'access', 'pki', 'ingress', 'node', 'controllers', 'client', 'streams', 'server', 'registry', 'store', 'grpc', 'api', 'clock'],
  testing: ['testing', 'cluster', 'access', 'controllers', 'extensions', 'node', 'client', 'server', 'registry', 'store', 'api', 'clock'],
  program: ['program', 'cluster', 'store/store'],
  envtest: ['envtest', 'program', 'cluster', 'pki', 'store/owner', 'api/values/duration', 'api/kinds/runtime-config', 'clock'],
  cli: ['cli', 'envtest', 'program', 'testing', 'cluster', 'store/store', 'clock'],
};

/**
 * Rooms inside a layer, each of which may import only those before it. `.` stands for the files of the layer itself, `*` for
 * any folder. What two rooms share is in the lower one.
 */
const rooms = {
  'src/api': [
    'generated', 'text', 'errors', 'values', 'model', 'protobuf', 'ownership', 'patch', 'kind',
    'cel/values', 'cel/syntax', 'cel/libraries', 'cel', 'custom-schema',
    'rules/shared', 'rules/storage', 'rules/pod', 'rules/pod-warnings', 'rules/pod-security', 'rules/workload', 'rules/service', 'rules/device',
    'rules/job', 'rules/access', 'rules/admission', 'rules/definition', 'rules/quota', 'kinds/*', 'kinds', 'minors/conversions', 'minors',
  ],
  'src/store': ['.', 'etcd'],
  'src/registry': ['view', 'encryption', '.', 'allocation', 'admission', 'verbs', 'system'],
  'src/access': ['shared', 'tokens', 'fairness', 'authentication', 'authorization', '.'],
  'src/extensions': ['calls', 'writes', 'definitions', 'webhooks', 'policies', 'aggregation'],
  'src/server': [
    'wire', 'http', 'lane', 'http2', 'observe', 'objects', 'discovery', 'discovery/openapi', 'pods', 'computed', 'aggregated', 'problems', 'search', 'past', 'samples', 'forwards', 'dashboard',
    'doors', 'chain', '.',
  ],
  'src/node': [
    'process', 'machine', 'runtime', 'logs', 'network', 'environment', 'volumes', 'runtime/process', 'runtime/engine',
    'runtime/docker', 'runtime/cri', 'runtime/simulated', 'pods', 'agent', 'joining',
  ],
  'src/controllers': [
    'shared', 'volumes', 'scheduling', 'workloads', 'batch', 'endpoints', 'addresses', 'certificates', '.',
  ],
  'src/streams': ['bytes', 'dial', 'session', 'spdy', 'websocket', 'serving', 'proxy'],
  'src/recorder': ['archive', 'dump', 'source', 'following'],
  'src/cluster': ['shared', 'options', 'config', 'manifests', 'access', 'store', 'node', 'named', 'past', 'doctor', '.'],
  'web/views': ['.', 'pods', 'panels', 'problems', 'editor', 'logs', 'terminal', 'object', 'list', 'create', 'overview', 'snapshots', 'timeline'],
};

/** The files of a room, without those of rooms inside it. */
const roomFiles = (layer, room) =>
  `^${layer}/${room === '.' ? '' : `${room.replace('*', '[^/]+')}/`}[^/]+\\.tsx?$`;

const roomRules = Object.entries(rooms).flatMap(([layer, names]) =>
  names.slice(0, -1).map((room, i) => ({
    name: `${layer}-${room}-looks-only-down`,
    severity: 'error',
    from: { path: roomFiles(layer, room), pathNot: '\\.(test|fixture|suite)\\.ts$' },
    to: { path: names.slice(i + 1).map((later) => roomFiles(layer, later)) },
  })),
);

/** A folder that is in no table would be checked by nothing. */
for (const entry of ['src', 'web/views'].flatMap((root) => readdirSync(root, { recursive: true, withFileTypes: true }))) {
  const path = `${entry.parentPath}/${entry.name}`.replaceAll('\\', '/');
  const layer = path.startsWith('web/') ? 'web/views' : path.split('/', 2).join('/');
  if (!/\.tsx?$/.test(path) || path.split('/').length < layer.split('/').length + 2) continue;
  if (!rooms[layer]?.some((room) => new RegExp(roomFiles(layer, room)).test(path)))
    throw new Error(`${path}: its folder is not among the rooms of ${layer} in .dependency-cruiser.cjs`);
}

/** Layers of the page, with what each may import of it. */
const webMay = {
  core: ['core'],
  ui: ['core', 'ui'],
  views: ['core', 'ui', 'views'],
  shell: ['core', 'ui', 'views', 'shell'],
};

module.exports = {
  forbidden: [
    ...roomRules,
    ...Object.entries(may).map(([layer, allowed]) => ({
      name: `${layer}-looks-only-down`,
      severity: 'error',
      from: { path: `^src/${layer}/`, pathNot: '\\.(test|fixture|suite)\\.ts$' },
      to: { path: '^src/', pathNot: [...allowed, ...everywhere].map((name) => `^src/${name}(/|\\.ts$)`) },
    })),
    ...Object.entries(webMay).map(([layer, allowed]) => ({
      name: `web-${layer}-looks-only-down`,
      severity: 'error',
      from: { path: `^web/${layer}/`, pathNot: '\\.test\\.ts$' },
      to: { path: '^(web|src)/', pathNot: allowed.map((name) => `^web/${name}/`) },
    })),
    { name: 'no-cycles', severity: 'error', from: { pathNot: '\\.(test|fixture|suite)\\.ts$' }, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    { name: 'api-is-pure', severity: 'error', from: { path: '^src/api/', pathNot: '\\.test\\.ts$' }, to: { dependencyTypes: ['core'], pathNot: '^(buffer|node:buffer|module|node:module)$' } },
    { name: 'no-http-below-the-server', severity: 'error', from: { path: '^src/(api|store|registry|controllers)/', pathNot: '\\.(test|fixture|suite)\\.ts$' }, to: { path: '^(node:)?https?$' } },
  ],
  options: {
    // Tests may import everything: no rule is about them.
    exclude: { path: '\\.test\\.ts$' },
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.mjs', '.json'] },
  },
};
