/**
 * Proves that one `wherry up` has this machine and simulated nodes together, from flags and from wherry.yaml, and that
 * objects of kustomizations are there at the start and again when they change.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { kubectls } from '../kubectl/programs.ts';
import { Child } from '../support/child.ts';
import { stop, useCommand } from '../support/command.ts';
import { Client } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';

const { children } = useCommand();
const always = ['--in-memory', '--port', '0', '--secure-port', 'off', '--pod-network', 'host'];
const pods = '/api/v1/namespaces/default/pods';
const machine = hostname().toLowerCase();

async function up(cwd: string, ...args: string[]): Promise<{ child: Child; client: Client }> {
  const child = new Child(['up', ...always, ...args], cwd);
  const url = await child.ready();
  await child.printed(/^Try: /m);
  return { child, client: new Client(url) };
}

const nodesOf = async (client: Client): Promise<Record<string, any>> =>
  Object.fromEntries(
    (await client.get('/api/v1/nodes')).body.items.map((node: any) => [node.metadata.name, node]),
  );

it('has the nodes of its file: this machine, which runs programs, and others that pretend', async () => {
  const cwd = await children.folder();
  writeFileSync(
    path.join(cwd, 'wherry.yaml'),
    `nodes:
  - labels: {disk: ssd}
  - simulated: 2
    name: small
    labels: {size: small}
    taints: ["dedicated=batch:NoSchedule"]
    capacity: {cpu: 4, memory: 16Gi, pods: 20}
`,
  );
  const { child, client } = await up(cwd);
  const nodes = await nodesOf(client);
  expect(Object.keys(nodes).sort()).toEqual([machine, 'small-1', 'small-2'].sort());
  expect(nodes[machine].metadata.labels.disk).toBe('ssd');
  expect(nodes['small-2']).toMatchObject({
    metadata: { labels: { size: 'small' } },
    spec: { taints: [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' }] },
    status: { capacity: { cpu: '4', memory: '16Gi', pods: '20' } },
  });
  // The taint keeps pods away that do not tolerate it; the program really runs.
  const work = { name: 'c', image: 'host', command: ['sh', '-c', 'echo really'] };
  await client.post(pods, {
    metadata: { name: 'real' },
    spec: { restartPolicy: 'Never', containers: [work] },
  });
  await client.post(pods, {
    metadata: { name: 'pretended' },
    spec: {
      nodeSelector: { size: 'small' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      containers: [{ ...work, command: ['never', 'run'] }],
    },
  });
  const pod = async (name: string) => (await client.get(`${pods}/${name}`)).body;
  await expect.poll(async () => (await pod('real')).status.phase, { timeout: 30_000 }).toBe('Succeeded');
  expect((await pod('real')).spec.nodeName).toBe(machine);
  expect((await client.get(`${pods}/real/log`)).text).toBe('really\n');
  await expect.poll(async () => (await pod('pretended')).status.phase, { timeout: 30_000 }).toBe('Running');
  expect((await pod('pretended')).spec.nodeName).toMatch(/^small-[12]$/);
  await stop(child);
});

describeWith('kubectl')('kustomizations', () => {
  it('are applied at the start and when they change, beside both kinds of nodes', async () => {
    const cwd = await children.folder();
    const programs = path.join(cwd, 'bin');
    mkdirSync(programs);
    symlinkSync(kubectls[0]!.program, path.join(programs, 'kubectl'));
    vi.stubEnv('PATH', [programs, process.env['PATH']].join(path.delimiter));
    const folder = path.join(cwd, 'my site');
    mkdirSync(folder);
    const map = (value: string): void =>
      writeFileSync(
        path.join(folder, 'map.yaml'),
        `apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: greeting}\r\ndata: {text: ${value}}\r\n`,
      );
    map('hello');
    writeFileSync(path.join(folder, 'kustomization.yaml'), 'namePrefix: my-\nresources: [map.yaml]\n');
    const kinds = ['--simulated-nodes', '2', '--with-machine'];
    const { child, client } = await up(cwd, ...kinds, '--kustomization', folder, '--watch-manifests');
    expect(child.stdout).toContain(`Applied 1 object of ${folder}\n`);
    expect(Object.keys(await nodesOf(client)).sort()).toEqual([machine, 'simulated-1', 'simulated-2'].sort());
    const greeting = async () =>
      (await client.get('/api/v1/namespaces/default/configmaps/my-greeting')).body.data?.text;
    expect(await greeting()).toBe('hello');
    map('goodbye');
    await expect.poll(greeting, { timeout: 30_000 }).toBe('goodbye');
    await stop(child);
  });

  it('say what they need where it is missing', async () => {
    const cwd = await children.folder();
    vi.stubEnv('PATH', path.join(cwd, 'nothing'));
    const child = new Child(['up', ...always, '--simulated-nodes', '1', '--kustomization', '.'], cwd);
    expect(await child.exited).toMatchObject({ code: 1 });
    expect(child.stderr).toMatch(/^wherry: .*kubectl/m);
  });
});
