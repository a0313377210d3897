/** The answers of a real server about admission policies and their bindings, replayed in order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client } from '../support/http.ts';
import { cases, Replay } from './recorded-cases.ts';

describe('policies', () => {
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
    if (one.name === 'create namespace' || /^polic(y|ies)\b/.test(one.name))
      it(one.name, async () => expect((await replay.difference(one)) ?? '').toBe(''));
});
