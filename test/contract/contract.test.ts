/**
 * The contract: every operation of the Cluster Resource API, on every kind it exists for, over HTTP. The rows
 * below are the rows of the document, with its paths. Pod connections, logs and proxies are tested elsewhere.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { Attempt } from './attempt.ts';
import {
  awayOf,
  type ContractKind,
  clusterKinds,
  extensionsKinds,
  homeOf,
  kindOf,
  namespacedKinds,
} from './kinds.ts';
import * as objects from './objects.ts';
import * as others from './others.ts';
import * as scales from './scales.ts';
import * as watches from './watches.ts';

const client = useCluster();
let checks = 0;

type Row = [method: string, template: string, kind: ContractKind, what: string, run: objects.Operation];

/** Rows that were checked with `pretty`: `npm test` does so with the first kind of each, before a release all do. */
const prettyRows = new Set<string>();

/** One row of the document on one kind, as one test. @param isRun whether it is more than counted */
function check([method, template, kind, what, run]: Row, pretty = false, isRun = true): void {
  const path = template.replace('<C>', kind.segment);
  checks++;
  if (!isRun) return;
  if (pretty && !isRelease && prettyRows.has(`${method} ${template} ${what}`)) return;
  if (pretty) prettyRows.add(`${method} ${template} ${what}`);
  it(`${method} ${path}: ${what}${pretty ? ', pretty' : ''}`, () =>
    run(new Attempt(client, kind, path, pretty)));
}

/** Every operation except discovery has a `pretty` parameter. */
function row(...row: Row): void {
  check(row);
  check(row, true);
}

type Way = readonly [what: string, run: objects.Operation];

const waysToSelect: readonly Way[] = [
  ['list by labelSelector', objects.listByLabel],
  ['list by fieldSelector', objects.listByField],
];
const waysToWatch: readonly Way[] = [
  ['watch from a resourceVersion', watches.watchChanges],
  ['watch from the beginning', watches.watchHistory],
  ['watch by labelSelector', watches.watchByLabel],
  ['watch by fieldSelector', watches.watchByField],
];

/** Kinds that were tried so far, by the ways and the path. */
const turns = new Map<string, number>();

/** The ways of reading a path: `npm test` tries the next one with each kind, and begins with another at each path. */
function ways(path: string, kind: ContractKind, list: readonly Way[]): void {
  const key = `${path} ${list[0]![0]}`;
  const turn = turns.get(key) ?? turns.size;
  turns.set(key, turn + 1);
  for (const [i, [what, run]] of list.entries()) {
    const isRun = isRelease || turn % list.length === i;
    check(['GET', path, kind, what, run], false, isRun);
    if (run === watches.watchChanges) check(['GET', path, kind, what, run], true, isRun);
  }
}

const listRow = (path: string, kind: ContractKind): void => {
  row('GET', path, kind, 'list', objects.list);
  ways(path, kind, waysToSelect);
  watchRow(path, kind);
};

const watchRow = (path: string, kind: ContractKind): void => ways(path, kind, waysToWatch);

const objectRows = (path: string, kind: ContractKind): void => {
  row('GET', path, kind, 'read', objects.read);
  row('PUT', path, kind, 'replace', objects.replace);
  row('DELETE', path, kind, 'delete', objects.remove);
  row('PATCH', path, kind, 'JSON patch', objects.patchJson);
  row('PATCH', path, kind, 'merge patch', objects.patchMerge);
  row('PATCH', path, kind, 'strategic merge patch', objects.patchStrategic);
};

const scaleRows = (path: string): void => {
  const kind = kindOf('ReplicationController');
  row('GET', path, kind, 'read scale', scales.readScale);
  row('PUT', path, kind, 'replace scale', scales.replaceScale);
  row('PATCH', path, kind, 'JSON patch of scale', scales.patchScaleJson);
  row('PATCH', path, kind, 'merge patch of scale', scales.patchScaleMerge);
  row('PATCH', path, kind, 'strategic merge patch of scale', scales.patchScaleStrategic);
};

beforeAll(async () => {
  const names = [...namespacedKinds, ...extensionsKinds].flatMap((kind) => [homeOf(kind), awayOf(kind)]);
  for (const name of names) await client.post('/api/v1/namespaces', { metadata: { name } });
});

describe('discovery', () => {
  for (const path of ['/api/v1', '/apis/extensions/v1beta1'])
    check(['GET', path, kindOf('Pod'), 'discover', others.discover]);
});

describe('core group: namespaced kinds', () => {
  for (const kind of namespacedKinds) {
    listRow('/api/v1/namespaces/{namespace}/<C>', kind);
    row('POST', '/api/v1/namespaces/{namespace}/<C>', kind, 'create', objects.create);
    objectRows('/api/v1/namespaces/{namespace}/<C>/{name}', kind);
    if (kind.hasStatus)
      row(
        'PUT',
        '/api/v1/namespaces/{namespace}/<C>/{name}/status',
        kind,
        'replace status',
        objects.replaceStatus,
      );
  }
});

describe('core group: cluster-scoped kinds', () => {
  for (const kind of clusterKinds) {
    listRow('/api/v1/<C>', kind);
    row('POST', '/api/v1/<C>', kind, 'create', objects.create);
    objectRows('/api/v1/<C>/{name}', kind);
    row('PUT', '/api/v1/<C>/{name}/status', kind, 'replace status', objects.replaceStatus);
  }
  row(
    'PUT',
    '/api/v1/namespaces/{name}/finalize',
    kindOf('Namespace'),
    'replace finalize',
    objects.replaceFinalize,
  );
});

describe('core group: across all namespaces', () => {
  for (const kind of namespacedKinds) {
    listRow('/api/v1/<C>', kind);
    row('POST', '/api/v1/<C>', kind, 'create', objects.create);
    check(['POST', '/api/v1/<C>', kind, 'create in the default namespace', objects.createByDefault]);
  }
});

describe('core group: component statuses', () => {
  const kind = { ...kindOf('Node'), segment: 'componentstatuses' };
  for (const path of ['/api/v1/<C>', '/api/v1/namespaces/{namespace}/<C>']) {
    row('GET', path, kind, 'list', others.listComponents);
    check(['GET', path, kind, 'list by labelSelector', others.listComponentsByLabel]);
    check(['GET', path, kind, 'list by fieldSelector', others.listComponentsByField]);
    check(['GET', path, kind, 'watch', others.watchComponents]);
  }
  row('GET', '/api/v1/namespaces/{namespace}/<C>/{name}', kind, 'read', others.readComponent);
  row('GET', '/api/v1/<C>/{name}', kind, 'read', others.readComponent);
});

describe('core group: bindings', () => {
  const pods = kindOf('Pod');
  row('POST', '/api/v1/bindings', pods, 'bind', others.bind);
  row('POST', '/api/v1/namespaces/{namespace}/bindings', pods, 'bind', others.bind);
  row('POST', '/api/v1/namespaces/{namespace}/pods/{name}/binding', pods, 'bind', others.bind);
});

describe('core group: watch', () => {
  for (const kind of [...namespacedKinds, ...clusterKinds]) watchRow('/api/v1/watch/<C>', kind);
  for (const kind of namespacedKinds) {
    watchRow('/api/v1/watch/namespaces/{namespace}/<C>', kind);
    watchRow('/api/v1/watch/namespaces/{namespace}/<C>/{name}', kind);
  }
  for (const kind of clusterKinds) watchRow('/api/v1/watch/<C>/{name}', kind);
});

describe('extensions group', () => {
  const prefix = '/apis/extensions/v1beta1';
  for (const kind of extensionsKinds) {
    listRow(`${prefix}/<C>`, kind);
    listRow(`${prefix}/namespaces/{namespace}/<C>`, kind);
    row('POST', `${prefix}/namespaces/{namespace}/<C>`, kind, 'create', objects.create);
    objectRows(`${prefix}/namespaces/{namespace}/<C>/{name}`, kind);
    row(
      'PUT',
      `${prefix}/namespaces/{namespace}/<C>/{name}/status`,
      kind,
      'replace status',
      objects.replaceStatus,
    );
    watchRow(`${prefix}/watch/<C>`, kind);
    watchRow(`${prefix}/watch/namespaces/{namespace}/<C>`, kind);
    watchRow(`${prefix}/watch/namespaces/{namespace}/<C>/{name}`, kind);
  }
  scaleRows(`${prefix}/namespaces/{namespace}/replicationcontrollers/{name}/scale`);
});

describe('scale where it is today', () => {
  scaleRows('/api/v1/namespaces/{namespace}/replicationcontrollers/{name}/scale');
});

/** Detects a row missing in the tables above. */
it('leaves no operation out', () => expect(checks).toBe(852));
