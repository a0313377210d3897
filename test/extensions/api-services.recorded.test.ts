/** The answers of a real server about APIServices, replayed in order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client } from '../support/http.ts';
import { cases, Replay } from './recorded-cases.ts';

/** The kind whose version has an automatic entry. */
const needed = new Set(['create namespace', 'widgets: create widgets', 'widgets: api service']);

describe('APIServices', () => {
  const hooks = new HookHost();
  let cluster: Cluster;
  let replay: Replay;
  beforeAll(async () => {
    await hooks.start();
    cluster = await start({ port: 0, like: 'kubernetes', controllers: false });
    replay = new Replay(new Client(cluster.url), hooks);
  });
  afterAll(async () => {
    await cluster.close();
    await hooks.close();
  });

  for (const one of cases)
    if (needed.has(one.name) || one.name.startsWith('api services: '))
      it(one.name, async () => expect((await replay.difference(one)) ?? '').toBe(''));
});
