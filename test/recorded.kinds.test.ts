/** The answers of a real server about storage, networks, runtimes and devices, replayed in order. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../src/cluster/index.ts';
import { type Case, Replay } from './extensions/recordedcases.ts';
import { Client } from './http.ts';

const { cases } = JSON.parse(
  readFileSync(new URL('./recorded/kinds-more-cases.json', import.meta.url), 'utf8'),
) as { cases: Case[] };

/** Addresses of services are not objects here: ranges and addresses are stored, and nothing follows from them. */
const allocated = new Set([
  'addresses: the range there is at start',
  'addresses: the address there is at start',
  'addresses: table',
  'addresses: there is an object for it',
  'addresses: a service in it',
  'addresses: delete the service in it',
  'addresses: ranges as a table',
]);

describe('recorded answers about later kinds', () => {
  let cluster: Cluster;
  let replay: Replay;
  beforeAll(async () => {
    // The recorded server ran no controllers.
    cluster = await start({ store: 'memory', controllers: false, like: 'kubernetes' });
    replay = new Replay(new Client(cluster.url));
  });
  afterAll(() => cluster.close());

  for (const one of cases)
    if (!allocated.has(one.name))
      it(one.name, async () => expect((await replay.difference(one)) ?? '').toBe(''));
});
