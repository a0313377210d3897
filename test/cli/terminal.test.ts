/** Proves for each command that prints what others wrote that it cannot command the terminal, nor change the order of words. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { summaryText } from '../../src/cli/dump-summary.ts';
import { importText } from '../../src/cli/import-summary.ts';
import { askHistory, askTimeline } from '../../src/cluster/past/change-list.ts';
import { askAt } from '../../src/cluster/past/past-objects.ts';
import { askProblems } from '../../src/cluster/past/problems.ts';
import { Ending } from '../../src/program/ending.ts';

const bad = 'x\u001b[2J\u009b\u202e\u200f\u2067\r\ny';
const shown = 'x [2J y';
const change = {
  version: '1',
  time: '2026-01-02T10:00:00Z',
  type: 'MODIFIED',
  apiVersion: 'v1',
  kind: bad,
  resource: 'pods',
  namespace: bad,
  name: bad,
  writer: { manager: bad },
  fields: [{ path: bad, before: bad, after: `${bad}2` }],
};
const event = { ...change, event: { about: bad, type: bad, reason: bad, message: bad } };
const gaps = [{ from: '2026-01-02T10:00:01Z', why: bad }];
const resource = { resource: 'pods', singularResource: 'pod', verbs: ['list'], scope: 'Namespaced' };
const answers: Readonly<Record<string, unknown>> = {
  '/wherry/changes': { items: [change, event], gaps, metadata: {} },
  '/wherry/problems': {
    items: [{ severity: 'error', message: bad, affects: [{ kind: bad, namespace: bad, name: bad }] }],
  },
  '/api': {
    items: [{ versions: [{ version: 'v1', resources: [{ ...resource, responseKind: { kind: 'Pod' } }] }] }],
  },
  '/apis': { items: [] },
};
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(({ url: asked = '', headers }, response) => {
    const known = answers[asked.split('?')[0]!];
    const metadata = { name: bad, namespace: bad };
    const table = { columnDefinitions: [{ name: bad }], rows: [{ cells: [bad], object: { metadata } }] };
    const list = headers.accept?.includes('Table') ? table : { items: [{ kind: 'Pod', metadata }] };
    if (asked.includes('/none/'))
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', message: bad.replace('\n', '') }));
    else response.end(JSON.stringify(known ?? list));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

const dumped = {
  ...{ files: 1, bytes: 0, objects: 0, logs: 0, duplicates: 0, problemCount: 1 },
  ...{ kinds: { [bad]: 1 }, inferred: [bad], problems: [{ file: bad, why: bad }] },
};
const copied = { source: bad, target: 'copy', objects: 1, requests: 1 };
const at = { moment: '1', what: 'pods', objects: [], allNamespaces: true };
const said = async (error: Error): Promise<string> => {
  let text = '';
  const stderr = { write: (more: string) => void (text += more) };
  new Ending({ on: () => undefined, exit: () => undefined, stderr, stdout: stderr }).fail(error);
  return text;
};

it.each<[string, () => Promise<string> | string]>([
  ['history', () => askHistory({ server: url, resource: 'pods', object: 'x' })],
  ['history --diff', () => askHistory({ server: url, resource: 'pods', object: 'x', diff: true })],
  ['timeline', () => askTimeline({ server: url })],
  ['at', () => askAt({ ...at, server: url })],
  ['at -o name', () => askAt({ ...at, server: url, shape: 'name' })],
  ['problems', async () => (await askProblems({ server: url, namespace: undefined, format: 'text' })).text],
  ['open', () => summaryText(dumped)],
  ['import', () => importText({ ...copied, kinds: [{ resource: bad, objects: 1, why: bad }] }, {})],
  ['a refusal', () => askAt({ ...at, server: url, allNamespaces: false, namespace: 'none' }).catch(said)],
])('wherry %s prints what others wrote as text', async (_, run) => {
  const text = await run();
  expect(text).toContain(shown);
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
});

it.each<[string, () => Promise<string>]>([
  ['history', () => askHistory({ server: url, resource: 'pods', object: 'x', format: 'json' })],
  ['timeline', () => askTimeline({ server: url, format: 'json' })],
  ['at -o json', () => askAt({ ...at, server: url, shape: 'json' })],
  ['at -o yaml', () => askAt({ ...at, server: url, shape: 'yaml' })],
  ['problems', async () => (await askProblems({ server: url, namespace: undefined, format: 'json' })).text],
])('%s for programs escapes what a terminal obeys, and has the text as it is', async (_, run) => {
  const text = await run();
  expect(text).toContain('2J');
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
  if (text.startsWith('{')) expect(JSON.stringify(JSON.parse(text))).toContain(JSON.stringify(bad));
});
