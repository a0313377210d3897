/** Proves that what another server says of itself is looked at in turns, once, and listed where it is well-formed. */
import { expect, it } from 'vitest';
import { turnsDuring } from '../../../test/support/turns.ts';
import type { RequestContext } from '../http/context.ts';
import { AggregatedDiscovery } from './aggregated-discovery.ts';
import type { Discovery } from './discovery.ts';

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

it('lists the many resources of another server, in turns and once', async () => {
  let looked = 0;
  const resources = Array.from({ length: 5_000 }, (_, i) => ({
    get name() {
      looked++;
      return i % 2 ? `things-${i}` : 'a\nb';
    },
    singularName: '',
    namespaced: true,
    kind: 'Thing',
    verbs: ['get'],
  }));
  const groupVersion = { groupVersion: 'x.example/v1', version: 'v1' };
  const discovery = {
    generation: 1,
    kinds: { generation: 1, generationOf: () => 1, resource: () => undefined },
    remote: () => ({ available: true }),
    remoteAnswer: () => answer,
    groupList: () => ({ groups: [{ name: 'x.example', versions: [groupVersion] }] }),
  };
  const answer = { resources };
  const aggregated = new AggregatedDiscovery(discovery as unknown as Discovery);
  const ask = async (): Promise<any> => {
    const body: Buffer[] = [];
    const context = {
      info: { path: '/apis', method: 'GET' },
      request: { headers: { accept } },
      response: {
        setHeader: () => undefined,
        writeHead: () => undefined,
        cork: () => undefined,
        write: (bytes: Buffer) => body.push(bytes),
        end: (bytes: Buffer) => body.push(bytes),
      },
      warnings: [],
    };
    expect(await aggregated.answer(context as unknown as RequestContext)).toBe(true);
    return JSON.parse(Buffer.concat(body).toString());
  };
  const { turns, result } = await turnsDuring(ask);
  const { items } = result;
  expect(items[0].versions[0].resources).toHaveLength(2_500);
  expect(turns).toBeGreaterThan(2);
  const before = looked;
  discovery.generation = 2;
  expect((await ask()).items).toEqual(items);
  expect(looked).toBe(before);
});
