/**
 * Proves that pages list what there is, all of it and nothing else: controllers, admission plugins, metrics, kinds and
 * versions; and that the files exist which they name. `docs.test.ts` does the same for flags.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { type Cluster, record, start } from '../../src/cluster/index.ts';
import { chosenControllers, controllers } from '../../src/controllers/controllers.ts';

const waitMaxMs = 20_000;
const root = path.join(import.meta.dirname, '../..');
const pages = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const textOf = (page: string): string => readFileSync(path.join(root, page), 'utf8');

/** The part of a page below a heading of the second level. */
const sectionOf = (page: string, heading: string): string => {
  const [, rest] = textOf(page).split(`\n## ${heading}\n`);
  expect(rest, `${page} has the heading ${heading}`).toBeDefined();
  return rest!.split('\n## ')[0]!;
};

/** The words in code of the first cells of all tables in a text. */
const listedIn = (text: string): string[] =>
  [...text.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].map(([, word]) => word!),
  );

/** What a pattern finds on all pages, as `page: word`. */
const named = (pattern: RegExp): [page: string, word: string][] =>
  pages.flatMap((page) =>
    [...textOf(page).matchAll(pattern)].map(([, word]): [string, string] => [page, word!]),
  );

const sorted = (words: Iterable<string>): string[] => [...words].sort();

describe('controllers', () => {
  const names = (isHousekeeping: boolean): string[] =>
    controllers.filter(({ housekeeping = false }) => housekeeping === isHousekeeping).map(({ name }) => name);

  it.each([
    ['Housekeeping', true],
    ['Workloads, nodes and volumes', false],
  ])('are all on their page: %s', (heading, isHousekeeping) => {
    expect(sorted(listedIn(sectionOf('docs/controllers.md', heading)))).toEqual(
      sorted(names(isHousekeeping)),
    );
  });

  it('are those that the error on their page names', () => {
    const [, list] = /; there are ([a-z, -]+)\n/.exec(textOf('docs/controllers.md'))!;
    expect(list!.split(', ')).toEqual(controllers.map(({ name }) => name));
  });

  it('exist where a page names them', () => {
    const known = new Set(controllers.map(({ name }) => name));
    const found = named(/[Cc]ontrollers? `([a-z][a-z-]*)`/g);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter(([, name]) => !known.has(name))).toEqual([]);
    const lists = named(/--controllers[= ]'?([a-z*-][a-z,*-]*)/g).filter(([, list]) => list !== 'nope');
    expect(lists.length).toBeGreaterThan(3);
    for (const [page, list] of lists)
      expect(() => chosenControllers(list.split(',')), `${page}: ${list}`).not.toThrow();
  });
});

describe('admission plugins', () => {
  let names: string[];

  beforeAll(async () => {
    const message = await start({ admission: { disabled: ['?'] } }).then(
      () => '',
      (error: Error) => error.message,
    );
    names = message.split('; there are ')[1]!.split(', ');
  });

  it('are all on the page about protection, in their order', () => {
    expect(names.length).toBeGreaterThan(15);
    expect(listedIn(sectionOf('docs/protection.md', 'Admission plugins'))).toEqual(names);
  });

  it('exist where a page names them', () => {
    const sentences = named(/[Pp]lugins? (`[A-Z]\w+`(?:(?:,| and| or) `[A-Z]\w+`)*)/g).flatMap(
      ([page, list]) => [...list.matchAll(/\w{4,}/g)].map(([name]) => [page, name]),
    );
    const flags = named(/--(?:en|dis)able-admission-plugins[= ]([A-Z][a-z][\w,]+)/g).flatMap(([page, list]) =>
      list.split(',').map((name) => [page, name]),
    );
    expect(sentences.length).toBeGreaterThan(1);
    expect([...sentences, ...flags].filter(([, name]) => !names.includes(name!))).toEqual([]);
  });
});

describe('metrics', () => {
  let folder: string;
  let cluster: Cluster;
  const served: Record<'server' | 'node', Set<string>> = { server: new Set(), node: new Set() };

  const read = async (whose: 'server' | 'node', at: string): Promise<void> => {
    const answer = await fetch(at.startsWith('http') ? at : `${cluster.url}${at}`);
    for (const [, name] of (await answer.text()).matchAll(/^# TYPE (\S+)/gm)) served[whose].add(name!);
  };
  const untilServed = (whose: 'server' | 'node', at: string, name: string): Promise<void> =>
    vi.waitFor(async () => {
      await read(whose, at);
      expect(served[whose]).toContain(name);
    }, waitMaxMs);

  /** With everything that has metrics: both doors, an audit log, and a node with a pod. */
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wherry-docs-lists-'));
    cluster = await start({ secure: true, auditLog: path.join(folder, 'audit.log'), simulatedNodes: 1 });
    await cluster.nodesReady;
    await fetch(`${cluster.url}/api/v1/namespaces/default/pods`, {
      method: 'POST',
      body: JSON.stringify({ metadata: { name: 'p' }, spec: { containers: [{ name: 'p', image: 'p' }] } }),
    });
    const node = '/api/v1/nodes/simulated-1/proxy/metrics';
    await read('node', node);
    await untilServed('node', `${node}/resource`, 'pod_cpu_usage_seconds_total');
    // Delays of the event loop are there from the second time on.
    await untilServed('server', '/metrics', 'nodejs_eventloop_lag_max_seconds');
    const kubeconfig = path.join(folder, 'recorded.config');
    await writeFile(kubeconfig, cluster.kubeconfig);
    const dataDir = path.join(folder, 'recording');
    const recorder = await record({ dataDir, kubeconfig, kinds: ['pods'], requestsPerSecond: 1_000 });
    await read('server', `${recorder.url}/metrics`);
    await recorder.close();
    served.node.delete('process_resident_memory_bytes');
  });
  afterAll(async () => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Metrics that only Linux has. */
  const isHere = (name: string): boolean => process.platform === 'linux' || !name.endsWith('_fds');

  it.each(['server', 'node'] as const)('are all on their page: those of a %s', (whose) => {
    const tables = sectionOf('docs/limits-and-metrics.md', 'Metrics').split('| metric of a node |');
    const listed = listedIn(tables[whose === 'server' ? 0 : 1]!);
    expect(sorted(listed.filter(isHere))).toEqual(sorted(served[whose]));
  });

  it('exist where a page names them', () => {
    // Of etcd itself, which has its own.
    const found = named(
      /\b((?:apiserver|wherry|etcd|nodejs|process|kubelet)_(?!server_|mvcc_|disk_)[a-z0-9_]+)\b/g,
    );
    expect(found.length).toBeGreaterThan(30);
    const known = (name: string): boolean =>
      !isHere(name) || served.server.has(name.replace(/_(?:bucket|sum|count)$/, '')) || served.node.has(name);
    expect(found.filter(([, name]) => !known(name))).toEqual([]);
  });
});

describe('kinds', () => {
  /** Version, kind and verbs, as the page has them; what discovery says of them is a generated part of it. */
  const rows = [
    ...sectionOf('docs/compatibility.md', 'Kinds and verbs').matchAll(
      /^\| ([a-z0-9./]+) \| ([A-Z]\w+) \| \w+ \| ([a-z ]*) \|/gm,
    ),
  ].map(([, version, kind, verbs]) => ({ version: version!, name: `${version} ${kind}`, verbs: verbs! }));

  it('are all on the page about compatibility', () => {
    const stored = rows.filter(({ verbs }) => verbs === 'all' || verbs.includes('watch'));
    expect(sorted(stored.map(({ name }) => name))).toEqual(
      sorted(builtinKinds.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)),
    );
  });

  it('have versions that the page about differences lists', () => {
    const [, list] = /\$ kubectl api-versions\n([\s\S]*?)```/.exec(textOf('docs/differences.md'))!;
    expect(list!.trim().split('\n')).toEqual(sorted(new Set(rows.map(({ version }) => version))));
  });
});

describe('files', () => {
  const folders = ['bench', 'docs', 'examples', 'scripts', 'src', 'test', 'web'];
  const files = [
    ...readdirSync(root),
    ...folders.flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        [folder, ...name.split(path.sep)].join('/'),
      ),
    ),
  ];
  /** Also by their last parts: `registry.ts` is `src/registry/registry.ts`. */
  const known = new Set(
    files.flatMap((file) => {
      const parts = file.split('/');
      return parts.map((_, i) => parts.slice(i).join('/'));
    }),
  );

  it('exist where a page names them', () => {
    const all = [...pages, 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'bench/README.md', 'web/README.md'];
    const found = all.flatMap((page) =>
      [...textOf(page).matchAll(/`([\w./-]+\.(?:css|fields\.json|mjs|tsx?))`/g)]
        .map(([, name]) => name!)
        .filter((name) => !name.startsWith('dist/'))
        .map((name) => [page, name] as const),
    );
    expect(found.length).toBeGreaterThan(100);
    expect(found.filter(([, name]) => !known.has(name))).toEqual([]);
  });
});
