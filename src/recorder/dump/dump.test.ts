/** Proves what is read out of dumps of every form, that nothing is skipped without a line, and that hostile ones are harmless. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it, test } from 'vitest';
import { tarOf, zipOf } from '../archive/archives.fixture.ts';
import { type Dump, readDump } from './dump.ts';

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-dump-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Files in a folder of their own; the path of that. */
async function tree(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const root = path.join(folder, `dump${count++}`);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), content);
  }
  return root;
}

async function file(name: string, content: string | Buffer): Promise<string> {
  return path.join(await tree({ [name]: content }), name);
}

const pod = (name: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'a', uid: `uid-${name}`, resourceVersion: '7', ...metadata },
  spec: { containers: [{ name: 'web', image: 'x' }] },
  ...more,
});
const text = (value: unknown): string => JSON.stringify(value);
const keys = ({ state }: Dump): string[] =>
  state.items.map(({ key }) => key.replaceAll('\u0000', '|')).sort();
const objects = ({ state }: Dump): any[] =>
  state.items.map(({ value }) => JSON.parse(value.toString('utf8')));
const reasons = ({ summary }: Dump): string[] =>
  summary.problems.map(({ file, why }) => `${file.slice(file.indexOf('/') + 1)}: ${why}`);

it('reads documents of every form', async () => {
  const list = (kind: string, ...items: object[]) => ({ apiVersion: 'v1', items, kind, metadata: {} });
  const { kind: _kind, apiVersion: _version, ...bare } = pod('bare');
  const dump = await readDump([
    await tree({
      'list.json': text(list('List', pod('one'), pod('two'))),
      'of-one-kind.json': text(list('PodList', bare)),
      'several.json': `${text(pod('three'))}\n${text(pod('four'))}`,
      'array.json': text([pod('five')]),
      'several.yaml':
        'apiVersion: v1\nkind: Pod\nmetadata: {name: six, namespace: a}\n--- # more\n# nothing\n---\nkind: Pod\napiVersion: v1\nmetadata:\n  name: seven\n',
      'powershell.yaml': Buffer.from(
        `\ufeffapiVersion: v1\nkind: Pod\nmetadata: {name: eight, namespace: a}\n`,
        'utf16le',
      ),
      'none.json': '{"kind":"PodList","apiVersion":"v1","items":null}',
      'no-extension': text(pod('nine')),
      'packed.json.gz': gzipSync(text(pod('ten'))),
    }),
  ]);
  expect(reasons(dump)).toEqual([]);
  expect(keys(dump)).toEqual(
    [
      ...['bare', 'eight', 'five', 'four', 'nine', 'one', 'six', 'ten', 'three', 'two'].map(
        (name) => `core/pods|a|${name}`,
      ),
      'core/pods|default|seven',
    ].sort(),
  );
  expect(dump.summary).toMatchObject({ files: 9, objects: 11, kinds: { pods: 11 }, duplicates: 0 });
});

it('keeps every field, also those that are unknown, and versions where they are free', async () => {
  const whole = pod(
    'whole',
    {
      spec: { containers: [], newField: { deep: [1, 12345678901234567890n.toString()] } },
      status: { phase: 'Failed' },
      extra: 1,
    },
    {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['x'],
      generation: 4,
      managedFields: [{ manager: 'm' }],
      ownerReferences: [{ uid: 'o' }],
      selfLink: '/x',
      unknown: true,
    },
  );
  const dump = await readDump([
    await file('one.json', text([whole, pod('same'), pod('without', {}, { resourceVersion: undefined })])),
  ]);
  const [shown] = objects(dump);
  const { resourceVersion: _, ...metadata } = whole.metadata;
  expect(shown).toEqual({ ...whole, metadata });
  expect(dump.state.items.map(({ revision }) => revision)).toEqual([7, 8, 9]);
  expect(dump.state.revision).toBe(9);
});

it('numbers beyond 2^53 stay what they are', async () => {
  const ship =
    '{"apiVersion":"example.com/v1","kind":"Ship","metadata":{"name":"a"},"spec":{"n":9007199254740993}}';
  const dump = await readDump([await file('ship.json', ship)]);
  expect(dump.state.items[0]!.value.toString()).toContain('"n":9007199254740993');
});

it('makes kinds that nothing explains from their objects and paths, and takes names from definitions', async () => {
  const object = (apiVersion: string, kind: string, name: string, namespace?: string) =>
    text({ apiVersion, kind, metadata: { name, namespace, uid: name } });
  const definition = (status: object) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'harbours.example.com', uid: 'def' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'harbours', kind: 'Harbour', shortNames: ['hb'] },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
      conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'] } },
    },
    status,
  });
  const files = {
    'namespaces/a/example.com/sheaves/one.yaml': object('example.com/v1', 'Sheaf', 'one', 'a'),
    'ships.json': object('example.com/v1', 'Ship', 's', 'a') + object('example.com/v2', 'Ship', 't', 'a'),
    'policies.json': object('example.com/v1', 'SafetyPolicy', 'p'),
    'old.json': object('batch/v1beta1', 'CronJob', 'c', 'a'),
    'harbour.json': object('example.com/v1', 'Harbour', 'h'),
  };
  const names = { plural: 'harbours', kind: 'Harbour' };
  const conditions = ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' }));
  const explained = await readDump([
    await tree({ ...files, 'crd.json': text(definition({ acceptedNames: names, conditions })) }),
  ]);
  expect(reasons(explained)).toEqual([]);
  expect(keys(explained)).toEqual([
    'apiextensions.k8s.io/customresourcedefinitions||harbours.example.com',
    'batch/cronjobs|a|c',
    'example.com/harbours#def||h',
    'example.com/safetypolicies||p',
    'example.com/sheaves|a|one',
    'example.com/ships|a|s',
    'example.com/ships|a|t',
  ]);
  expect(explained.summary.inferred).toEqual([
    'sheaves.example.com',
    'safetypolicies.example.com',
    'ships.example.com',
  ]);
  expect(
    explained.kinds.filter(({ resource }) => resource === 'ships').map(({ version }) => version),
  ).toEqual(['v2', 'v1']);
  const unfinished = await readDump([await tree({ ...files, 'crd.json': text(definition({})) })]);
  const harbour = unfinished.kinds.find(({ resource }) => resource === 'harbours')!;
  expect(harbour).toMatchObject({ namespaced: false, shortNames: ['hb'] });
});

it('finds logs by the layouts of cluster-info, must-gather, support bundles and nodes', async () => {
  const at = '2026-01-01T00:00:00.000000001Z';
  const dump = await readDump([
    await tree({
      'pods.json': text([
        pod('one', { spec: { containers: [{ name: 'web' }, { name: 'side' }] } }),
        pod('two'),
        pod('three'),
        pod('four'),
      ]),
      'a/one/logs.txt':
        '==== START logs for container web of pod a/one ====\nhello\n{"kind":"x"}\n==== END logs for container web of pod a/one ====\n==== START logs for container side of pod a/one ====\n==== END logs for container side of pod a/one ====\n',
      'namespaces/a/pods/two/web/web/logs/current.log': `${at} first\n2026-01-01T00:01:00.000000001Z second\n`,
      'namespaces/a/pods/two/web/web/logs/previous.log': `${at} before\n`,
      'cluster-resources/pods/logs/a/three/web.log': 'no times\n',
      'pods/a_four_uid/web/0.log': `${at} stdout F one\n${at} stderr P tw\n${at} stderr F o\n`,
      'journal.log': 'x\n',
    }),
  ]);
  expect(reasons(dump)).toEqual(['journal.log: it is the log of no container in the dump']);
  const read = (name: string, query = '', container = 'web'): string =>
    dump.logs.read('a', name, container, new URLSearchParams(query)).toString('utf8');
  expect(read('one')).toBe('hello\n{"kind":"x"}\n');
  expect(read('one', '', 'side')).toBe('');
  expect(read('two')).toBe('first\nsecond\n');
  expect(read('two', 'timestamps=true&tailLines=1')).toBe('2026-01-01T00:01:00.000000001Z second\n');
  expect(read('two', 'sinceSeconds=30')).toBe('second\n');
  expect(read('two', 'sinceTime=2026-01-01T00:00:30Z')).toBe('second\n');
  expect(read('two', 'previous=true')).toBe('before\n');
  expect(read('two', 'limitBytes=3')).toBe('fir');
  expect(read('three')).toBe('no times\n');
  expect(() => read('three', 'timestamps=true')).toThrow('the lines of this log have no times in the dump');
  expect(read('four')).toBe('one\ntwo\n');
  expect(() => read('four', 'previous=true')).toThrow('the dump has no log of it');
  expect(dump.summary.logs).toBe(6);
});

it('says of every file and document that is not shown why', async () => {
  const beginning =
    'apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    namespace: a\n    name: ';
  const dump = await readDump([
    await tree({
      'empty.yaml': '',
      'page.html': '<html>',
      'picture.png': Buffer.from([0x89, 0x50, 0, 0]),
      'table.json': text({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', rows: [] }),
      'refused.json': text({ kind: 'Status', apiVersion: 'v1', message: 'pods is forbidden' }),
      'cut.json': `{"kind":"List","apiVersion":"v1","items":[${text(pod('kept'))},{"kind":"Po`,
      'cut.yaml': `${beginning}part\n`,
      'cut-long.yaml': `${beginning}part-2\n    annotations:\n      a: ${'x'.repeat(70_000)}\n      b: z`,
      'mistake.json': `${text(pod('before'))}{"kind": oops}${text(pod('after'))}`,
      'mistake.yaml': 'kind: Pod\napiVersion: v1\nmetadata: {name: ok, namespace: a}\n---\na: [\n',
      'types.json': text(pod('wrong', { spec: { containers: 5 } })),
      'nameless.json': text({ kind: 'Pod', apiVersion: 'v1', metadata: {} }),
      'names.json': text([pod('a/b'), { ...pod('c'), kind: 'Po d' }, { ...pod('c'), apiVersion: '../v1' }]),
      'text.json': '"just a text"',
      'other.json': '5',
    }),
  ]);
  expect(keys(dump)).toEqual(
    ['after', 'before', 'kept', 'ok', 'part', 'part-2'].map((name) => `core/pods|a|${name}`),
  );
  expect(reasons(dump)).toEqual([
    'cut-long.yaml: it is cut off: the list does not end, and its last object may not be whole',
    'cut.json: it is cut off: the last document does not end',
    'cut.yaml: it is cut off: the list does not end, and its last object may not be whole',
    'empty.yaml: it is empty',
    expect.stringMatching(/^mistake\.json: a document is no JSON/),
    expect.stringMatching(/^mistake\.yaml: a document is no YAML/),
    'nameless.json: a Pod has no name',
    'names.json: a Pod has a name that no object can have',
    'names.json: Po d a/c: its kind or apiVersion cannot be one',
    'names.json: Pod a/c: its kind or apiVersion cannot be one',
    'other.json: it holds neither objects nor a log',
    'page.html: it holds neither objects nor a log',
    'picture.png: it holds neither objects nor a log',
    'refused.json: it is the answer of a server: pods is forbidden',
    'table.json: it is a table, which does not hold whole objects: dump with -o yaml or -o json',
    'text.json: it holds neither objects nor a log',
    expect.stringMatching(/^types\.json: Pod a\/wrong: json: cannot unmarshal/),
  ]);
});

it('shows an object once: the newest of its versions', async () => {
  const dump = await readDump([
    await tree({
      '1.json': text(pod('twice', { status: { phase: 'Pending' } })),
      '2.json': text(pod('twice', { status: { phase: 'Running' } }, { resourceVersion: '12' })),
      '3.json': text(pod('twice', { status: { phase: 'Pending' } })),
    }),
  ]);
  expect(objects(dump)).toMatchObject([{ status: { phase: 'Running' } }]);
  expect(dump.summary).toMatchObject({ objects: 1, duplicates: 2 });
});

it('refuses an object that no store takes', async () => {
  const dump = await readDump([
    await file('large.json', text(pod('large', { data: 'x'.repeat(9 * 1024 * 1024) }))),
  ]);
  expect(reasons(dump)).toEqual([
    expect.stringMatching(/Pod a\/large: it has \d+ bytes, a store takes 8388608/),
  ]);
});

it('documents without an end to their levels, and definitions that no server could start with, are lines', async () => {
  const levels = 20_000;
  const deep = '['.repeat(levels) + ']'.repeat(levels);
  const defined = (plural: string, group: string, name = `${plural}.${group}`) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: { group, scope: 'Namespaced', names: { plural, kind: 'Deployment' }, versions: [] },
  });
  const dump = await readDump([
    await tree({
      'a.json': deep,
      'b.json': `{"kind":"List","apiVersion":"v1","items":[{"a":${deep}},${text(pod('good'))}]}`,
      'c.json': `{"kind":"List","apiVersion":"v1","x":${deep},"items":[${text(pod('late'))}]}`,
      'd.json': text(defined('deployments', 'apps')) + text(defined('a', 'x.io', 'b.x.io')),
    }),
  ]);
  expect(keys(dump)).toEqual(['core/pods|a|good', 'core/pods|a|late']);
  expect(reasons(dump)).toEqual([
    ...['a', 'b', 'c'].map((name) => `${name}.json: a document has more than 1000 levels`),
    'd.json: CustomResourceDefinition deployments.apps: the server has such a kind of its own',
    'd.json: CustomResourceDefinition b.x.io: its name is not that of its resource and group',
  ]);
});

const hostile = [
  { name: '../../etc/evil.json', content: text(pod('up')) },
  { name: '/etc/evil.json', content: text(pod('root')) },
  { name: 'good.json', content: text(pod('good')) },
  { name: 'Good.json', content: text(pod('other')) },
];

test.each([
  ['tar', (entries: typeof hostile) => tarOf([...entries, { name: 'link', type: '2' }])],
  ['tar.gz', (entries: typeof hostile) => gzipSync(tarOf([...entries, { name: 'link', type: '2' }]))],
  ['zip', (entries: typeof hostile) => zipOf([...entries, { name: 'link', mode: 0o120777 }])],
])('paths that lead out of a %s, and links, are lines', async (form, packed) => {
  const dump = await readDump([await file(`dump.${form}`, packed(hostile))]);
  expect(keys(dump)).toEqual(['core/pods|a|good', 'core/pods|a|other']);
  expect(dump.summary.problems.map(({ why }) => why)).toEqual([
    'its path leads out of the archive',
    'its path is absolute',
    'it is a link or a device',
  ]);
});

it('reads long names of GNU and pax, and what comes before a cut', async () => {
  const long = `${'folder/'.repeat(30)}pod.json`;
  const pax = `path=${long}\n`;
  const record = `${pax.length + 4} ${pax}`;
  const whole = tarOf([
    { name: '././@LongLink', type: 'L', content: `${long}\u0000` },
    { name: 'short', content: text(pod('gnu')) },
    { name: 'pax', type: 'x', content: record },
    { name: 'short', content: '{' },
    { name: 'folder', type: '5' },
    { name: 'last.json', content: text(pod('last')) },
  ]);
  const dump = await readDump([await file('a.tar', whole)]);
  expect(keys(dump)).toEqual(['core/pods|a|gnu', 'core/pods|a|last']);
  expect(reasons(dump)).toEqual([`${long}: it is cut off: the last document does not end`]);
  const cut = await readDump([
    await file('b.tar', whole.subarray(0, whole.length - 1024 - 512 + 20)),
    await file('c.tar.gz', gzipSync(whole).subarray(0, -20)),
    await file('d.zip', zipOf([{ name: 'x.json', content: text(pod('x')) }]).subarray(0, -8)),
  ]);
  expect(keys(cut)).toContain('core/pods|a|gnu');
  expect(cut.summary.problems.map(({ why }) => why)).toEqual(
    expect.arrayContaining([
      'the archive is cut off in it',
      expect.stringMatching(/cut off|cannot be read/),
      'it is cut off: a zip archive has its directory at the end',
    ]),
  );
});

it('damaged archives are lines: sizes that lie, wrong checksums, seals, two files of one name', async () => {
  const zip = zipOf([
    { name: 'lies.json', content: 'x'.repeat(100_000), size: 10 },
    { name: 'sealed.json', content: 'x', flags: 1 },
    { name: 'a.json', content: text(pod('a')) },
    { name: 'a.json', content: text(pod('b')) },
    { name: 'inner.zip', content: zipOf([]) },
  ]);
  const tar = tarOf([{ name: 'x.json', content: text(pod('x')) }]);
  tar[0] = 0x7a;
  const dump = await readDump([
    await file('z.zip', zip),
    await file('t.tar', tar),
    await file('e.tar', Buffer.alloc(0)),
  ]);
  expect(keys(dump)).toEqual(['core/pods|a|a']);
  expect(reasons(dump)).toEqual([
    expect.stringMatching(/^lies\.json: it cannot be unpacked/),
    'sealed.json: it is encrypted',
    'a.json: the archive has two files of this name',
    'inner.zip: it is an archive inside the dump: open it on its own',
    't.tar: it is damaged: no tar header',
    'e.tar: it is empty',
  ]);
});

it('files of a zip that share their bytes are not read again and again', async () => {
  const one = zipOf([{ name: 'a.json', content: text(pod('a')) }]);
  const at = one.readUInt32LE(one.length - 6);
  const [entry, end] = [one.subarray(at, -22), Buffer.from(one.subarray(-22))];
  const entries = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => {
    const copy = Buffer.from(entry);
    copy.write(name, 46);
    return copy;
  });
  end.writeUInt32LE(entry.length * entries.length, 12);
  const many = Buffer.concat([one.subarray(0, at), ...entries, end]);
  const dump = await readDump([await file('shared.zip', many)]);
  expect(keys(dump)).toEqual(['core/pods|a|a']);
  expect(reasons(dump)).toEqual([
    'shared.zip: its files are longer than itself: the rest of it was not read',
  ]);
});

it('blank lines before an object take no time that doubles with each', async () => {
  const yaml = 'apiVersion: v1\nkind: Pod\nmetadata: {name: late, namespace: a}\n';
  const blank = '\n'.repeat(60);
  const dump = await readDump([
    await file('a.yaml', `# a comment\n${blank}${yaml}---${blank}# nothing\n${blank}`),
  ]);
  expect(keys(dump)).toEqual(['core/pods|a|late']);
  expect(reasons(dump)).toEqual([]);
});

it('finds the log of one of many pods that have the same name', async () => {
  const files: Record<string, string> = { 'cluster/c/web/web.log': 'of c\n' };
  for (const namespace of ['a', 'b', 'c'])
    files[`${namespace}.json`] = text(pod('web', {}, { namespace, uid: namespace }));
  const dump = await readDump([await tree(files)]);
  expect(reasons(dump)).toEqual([]);
  expect(dump.logs.read('c', 'web', 'web', new URLSearchParams()).toString()).toBe('of c\n');
  expect(() => dump.logs.read('b', 'web', 'web', new URLSearchParams())).toThrow('no log of it');
});

it('a bomb is read up to a bound, and told', async () => {
  // Members of gzip stand behind each other, so the same ones can be used again.
  const one = (name: string, content: string | Buffer): Buffer =>
    gzipSync(tarOf([{ name, content }]).subarray(0, -1024));
  const zeros = one('zeros.bin', Buffer.alloc(40 * 1024 * 1024));
  const members = [
    one('a.json', text(pod('first'))),
    ...Array(8).fill(zeros),
    one('b.json', text(pod('late'))),
  ];
  const dump = await readDump([await file('bomb.tar.gz', Buffer.concat(members))]);
  expect(keys(dump)).toEqual(['core/pods|a|first']);
  const bound = 'it unpacks to more than 300 times its size; the rest of it was not read';
  expect(dump.summary.problems.at(-1)!.why).toBe(bound);
  // Files that were unpacked in vain count, too.
  const size = 200 * 1024 * 1024;
  const lies = ['a', 'b', 'c'].map((name) => ({ name: `${name}.json`, content: 'x'.repeat(1_000), size }));
  const inVain = await readDump([await file('lies.zip', zipOf(lies))]);
  expect(inVain.summary.problems.map(({ why }) => why)).toEqual([
    'it is damaged: its checksum differs',
    'it is damaged: its checksum differs',
    bound,
  ]);
});

it('does not follow links in folders, and says of a path that is missing that it is', async () => {
  const outside = await file('secret.json', text(pod('secret')));
  const root = await tree({ 'a.json': text(pod('a')) });
  await symlink(outside, path.join(root, 'link.json'));
  await symlink(path.dirname(outside), path.join(root, 'folder'));
  const dump = await readDump([root]);
  expect(keys(dump)).toEqual(['core/pods|a|a']);
  expect(reasons(dump)).toEqual(['folder: it is a link or a device', 'link.json: it is a link or a device']);
  await expect(readDump([path.join(folder, 'missing')])).rejects.toThrow('ENOENT');
});
