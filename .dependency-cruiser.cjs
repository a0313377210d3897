/**
 * The layers, each of which may import only those before it:
 *
 *   api ← store ← registry ← extensions ← server ← cluster ← testing ← cli
 *
 * `clock` is the wall clock; `api`, `registry` and `controllers` are handed the time.
 * `streams`, `client`, `controllers`, `node` and `ingress` stand beside the server; ARCHITECTURE.md says what each must not know.
 */
/** What every layer may import: the switches for debugging, what remembers values by object, and timers. */
const everywhere = ['switches', 'memo', 'timers'];

const may = {
  api: ['api'],
  store: ['store', 'clock'],
  registry: ['registry', 'pki', 'store', 'api'],
  pki: ['pki', 'api', 'clock'],
  access: ['access', 'pki', 'registry', 'api', 'clock'],
  client: ['client', 'pki', 'api', 'clock'],
  streams: ['streams', 'api'],
  extensions: ['extensions', 'client', 'streams', 'pki', 'access', 'registry', 'api', 'clock'],
  server: ['server', 'extensions', 'access', 'pki', 'streams', 'registry', 'store/store', 'api', 'clock'],
  controllers: ['controllers', 'client', 'pki', 'registry', 'api'],
  node: ['node', 'client', 'pki', 'streams', 'api', 'clock'],
  ingress: ['ingress', 'client', 'streams', 'api'],
  cluster: ['cluster', 'extensions', 'access', 'pki', 'ingress', 'node', 'controllers', 'client', 'streams', 'server', 'registry', 'store', 'api', 'clock'],
  testing: ['testing', 'cluster', 'controllers', 'extensions', 'node', 'client', 'server', 'registry', 'store', 'api', 'clock'],
  cli: ['cli', 'cluster', 'testing', 'envtest', 'store/store', 'clock'],
  envtest: ['envtest', 'cli', 'cluster', 'pki', 'store/owner', 'api/duration', 'api/runtimeconfig', 'clock'],
};

module.exports = {
  forbidden: [
    ...Object.entries(may).map(([layer, allowed]) => ({
      name: `${layer}-looks-only-down`,
      severity: 'error',
      from: { path: `^src/${layer}/`, pathNot: '\\.(test|case)\\.ts$' },
      to: { path: '^src/', pathNot: [...allowed, ...everywhere].map((name) => `^src/${name}(/|\\.ts$)`) },
    })),
    { name: 'no-cycles', severity: 'error', from: { pathNot: '\\.(test|case)\\.ts$' }, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    { name: 'api-is-pure', severity: 'error', from: { path: '^src/api/', pathNot: '\\.test\\.ts$' }, to: { dependencyTypes: ['core'], pathNot: '^(buffer|node:buffer|module|node:module)$' } },
    { name: 'no-http-below-the-server', severity: 'error', from: { path: '^src/(api|store|registry|controllers)/', pathNot: '\\.(test|case)\\.ts$' }, to: { path: '^(node:)?https?$' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.json'] },
  },
};
