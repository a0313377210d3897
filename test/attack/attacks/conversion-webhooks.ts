/** A conversion webhook that hangs, redirects, never stops talking, or lies about what it has converted. */
import { type HookBehaviour, HookHost } from '../../../src/extensions/calls/hook-host.fixture.ts';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';
import { Canary, hookWays } from '../hook-ways.ts';
import { until } from '../pods.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const place = (version: string): string => `/apis/attack.example/${version}/namespaces/attack/boats`;
/** Time that a call may take, after which it has failed; those ways take all of it, and are tried at the end. */
const lasting = new Set(['hang', 'a byte now and then']);
const costMaxMs = 2_500;

type Review = { request: { uid: string; desiredAPIVersion: string; objects: any[] } };

/** Answers with objects that were changed after they were converted. */
const lie = (change: (objects: any[]) => unknown[]): HookBehaviour => ({
  answer: (_request, response, { request }: Review) => {
    const converted = structuredClone(request.objects);
    for (const object of converted) object.apiVersion = request.desiredAPIVersion;
    const result = { status: 'Success' };
    response.setHeader('Content-Type', 'application/json').end(
      JSON.stringify({
        kind: 'ConversionReview',
        apiVersion: 'apiextensions.k8s.io/v1',
        response: { uid: request.uid, result, convertedObjects: change(converted) },
      }),
    );
  },
});

const each = (change: (object: any) => unknown): HookBehaviour => lie((objects) => objects.map(change));
const metadata = (more: object): HookBehaviour =>
  each((object) => ({ ...object, metadata: { ...object.metadata, ...more } }));

const lies: Readonly<Record<string, HookBehaviour>> = {
  'fewer objects': lie((objects) => objects.slice(1)),
  'more objects': lie((objects) => [...objects, ...objects]),
  'many objects': lie((objects) => Array.from({ length: 20_000 }, () => objects[0])),
  'no objects': lie(() => [null]),
  'another name': metadata({ name: 'other' }),
  'another namespace': metadata({ namespace: 'default' }),
  'another uid': metadata({ uid: 'other' }),
  'another kind': each((object) => ({ ...object, kind: 'Pod' })),
  'another version': each((object) => ({ ...object, apiVersion: 'v1' })),
  'no metadata': each(({ metadata: _, ...object }) => object),
  'labels that are none': metadata({ labels: { 'not a label': '\n' } }),
};

/** What may be changed without harm, because it is not taken over. */
const ignored: Readonly<Record<string, HookBehaviour>> = {
  'other metadata': metadata({
    finalizers: ['attack.example/stays'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }],
    resourceVersion: '1',
    deletionTimestamp: '2000-01-01T00:00:00Z',
    generation: 99,
    managedFields: [{ manager: 'other' }],
    creationTimestamp: '2000-01-01T00:00:00Z',
  }),
};

async function define(server: AttackedServer, host: HookHost): Promise<void> {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = { served: true, schema: { openAPIV3Schema } };
  await server.create(definitions, {
    metadata: { name: 'boats.attack.example' },
    spec: {
      group: 'attack.example',
      scope: 'Namespaced',
      names: { plural: 'boats', kind: 'Boat' },
      versions: [
        { ...version, name: 'v1', storage: true },
        { ...version, name: 'v2', storage: false },
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: `${host.url}/convert`, caBundle: host.ca },
        },
      },
    },
  });
  await until('the kind is served', async () =>
    (await server.askLocally(place('v1'))).status === 200 ? true : undefined,
  );
}

export const attack: Attack = {
  name: 'conversion webhooks',
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    const [host, canary] = [new HookHost(), new Canary()];
    await host.start();
    await canary.start();
    await define(server, host);
    for (const name of ['a', 'b'])
      await server.create(place('v1'), { apiVersion: 'attack.example/v1', kind: 'Boat', metadata: { name } });
    const asked = ['', '/a', '?watch=true&timeoutSeconds=1', '/a?timeout=1s'];
    const paths = isShort ? asked.slice(0, 2) : asked;
    for (const [way, behaviour] of Object.entries({
      ...hookWays(canary.url, isShort),
      ...lies,
      ...ignored,
    })) {
      if (lasting.has(way)) continue;
      host.hooks.set('/convert', behaviour);
      for (const path of paths) {
        const cpuMs = server.cpuMs;
        const { status, text } = await server.ask('tenant', `${place('v2')}${path}`);
        const cost = server.cpuMs - cpuMs;
        codes.push(status);
        if (cost > costMaxMs) gotIn.push(`${way} costs ${Math.round(cost)} ms`);
        if (way in ignored ? status !== 200 : status < 400 && !path.includes('watch'))
          gotIn.push(`${way} is answered with ${status} at ${path || 'the list'}: ${text.slice(0, 200)}`);
        if (/attack.example\/stays|2000-01-01/.test(text)) gotIn.push(`${way} changes metadata`);
      }
    }
    // More requests than may be under way wait for an answer that does not come.
    host.hooks.set('/convert', { answer: () => undefined });
    host.take();
    // What was converted once is remembered: these were not.
    const names = Array.from({ length: isShort ? 8 : 300 }, (_, i) => `waiting-${i}`);
    for (const name of names)
      await server.create(place('v1'), { apiVersion: 'attack.example/v1', kind: 'Boat', metadata: { name } });
    const waiting = names.map((name) => server.ask('tenant', `${place('v2')}/${name}`));
    await until('the webhook is asked', async () => (host.calls.length >= 1 ? true : undefined));
    for (let i = 0; i < (isShort ? 5 : 100); i++) {
      const { status } = await server.ask('neighbour', '/api/v1/namespaces/default/configmaps?limit=1');
      if (status !== 200) gotIn.push(`beside one that hangs, the neighbour gets ${status}`);
      const own = await server.ask('admin', `${place('v1')}/a`);
      if (own.status !== 200) gotIn.push(`beside one that hangs, the stored version gets ${own.status}`);
    }
    await host.close();
    for (const { status } of await Promise.all(waiting)) codes.push(status);
    if (canary.hits) gotIn.push(`${canary.hits} redirects were followed`);
    await canary.close();
    await server.remove(`${definitions}/boats.attack.example`);
    return { gotIn: [...new Set(gotIn)], says: codesText(codes) };
  },
};
