/** The answers of a real server about definitions of custom kinds and their objects, replayed in order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client } from '../support/http.ts';
import { type Case, cases, Replay } from './recorded-cases.ts';

const sequences: ReadonlySet<string> = new Set([
  'crd shape',
  'crd schema',
  'crd rules',
  'widgets',
  'objects',
  'validation',
  'changes',
  'ratcheting',
  'rules',
  'names',
  'versions',
  'conversion',
  'deletion',
]);

const sequenceOf = ({ name }: Case): string => name.slice(0, name.indexOf(':'));

/** A real server asks twice, once for its cache of the version; here an object is converted once. */
const askedTwice: ReadonlySet<string> = new Set(['conversion: read in the other']);

const withOneReview = (one: Case): Case =>
  askedTwice.has(one.name)
    ? { ...one, expect: { ...one.expect, reviews: one.expect.reviews!.slice(0, 1) } }
    : one;

describe('custom kinds', () => {
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
    if (one.name === 'create namespace' || sequences.has(sequenceOf(one)))
      it(one.name, async () => expect((await replay.difference(withOneReview(one))) ?? '').toBe(''));
});
