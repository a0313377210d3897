/** The answers of a real server about storage, networks, runtimes and devices, replayed in order. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { type Case, Replay } from '../extensions/recorded-cases.ts';
import { Client } from '../support/http.ts';

const { cases } = JSON.parse(
  readFileSync(new URL('../recorded/kinds-more-cases.json', import.meta.url), 'utf8'),
) as { cases: Case[] };

describe('recorded answers about later kinds', () => {
  let cluster: Cluster;
  let replay: Replay;
  beforeAll(async () => {
    // The recorded server ran no controllers.
    cluster = await start({ store: 'memory', controllers: false, like: 'kubernetes' });
    replay = new Replay(new Client(cluster.url));
  });
  afterAll(() => cluster.close());

  for (const one of cases) it(one.name, async () => expect((await replay.difference(one)) ?? '').toBe(''));
});
