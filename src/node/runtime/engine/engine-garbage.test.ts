/** Proves which containers and images are removed when they are no longer needed. */
import { describe, expect, it } from 'vitest';
import type { EngineContext, FoundContainer } from './container-engine.ts';
import { EngineGarbage } from './engine-garbage.ts';
import { labels, sandboxName } from './pod-identity.ts';

const found = (id: string, uid: string, attempt: number, state: FoundContainer['state']): FoundContainer => ({
  id,
  state,
  imageId: `image-of-${id}`,
  sandbox: '',
  labels: {
    [labels.node]: 'me',
    [labels.podUid]: uid,
    [labels.container]: 'c',
    [labels.attempt]: String(attempt),
  },
});

function bench(containers: readonly FoundContainer[], pulled: readonly string[], fullness: number[]) {
  const removed: string[] = [];
  const engine = {
    owner: { node: 'me', agent: undefined, folder: '/here' },
    calls: {
      list: async () => [...containers],
      delete: async (id: string) => void removed.push(id),
      imageFolder: async () => '/images',
      removeImage: async (id: string) => removed.push(id) > 0,
      isUnreachable: () => false,
    },
    images: {
      pulledImages: async () => pulled.map((id, i) => ({ id, usedAt: i })),
      forget: async () => undefined,
    },
    now: () => 1_000_000,
    onError: () => undefined,
  } as unknown as EngineContext;
  const pods = {
    isKnown: (uid: string) => uid === 'known',
    removePod: async (uid: string) => void removed.push(`pod ${uid}`),
  };
  const garbage = new EngineGarbage(engine, pods, async () => fullness.shift() ?? 0);
  return { garbage, removed };
}

describe('garbage', () => {
  it('are pods that are gone, and all but the last two runs of a container', async () => {
    const { garbage, removed } = bench(
      [
        found('a0', 'known', 0, 'ended'),
        found('a1', 'known', 1, 'ended'),
        found('a2', 'known', 2, 'ended'),
        found('a3', 'known', 3, 'running'),
        found('b0', 'gone', 0, 'running'),
        { ...found('c0', 'known', 0, 'ended'), labels: {} },
      ],
      [],
      [],
    );
    await garbage.collectContainers();
    expect(removed).toEqual(['pod gone', 'a0']);
  });

  it('are sandboxes that have ended and are empty, but not the newest of a pod', async () => {
    const sandbox = (id: string, uid: string, attempt: number, state: FoundContainer['state']) => {
      const one = found(id, uid, attempt, state);
      return { ...one, labels: { ...one.labels, [labels.container]: sandboxName } };
    };
    const { garbage, removed } = bench(
      [
        sandbox('s0', 'known', 0, 'ended'),
        sandbox('s1', 'known', 1, 'ended'),
        { ...found('c1', 'known', 0, 'ended'), sandbox: 's1' },
        sandbox('s2', 'known', 2, 'ended'),
      ],
      [],
      [],
    );
    await garbage.collectContainers();
    expect(removed).toEqual(['s0']);
  });

  it('are images that were pulled here and no container uses, until the disk has room', async () => {
    const running = [found('r', 'known', 0, 'running')];
    const { garbage, removed } = bench(
      running,
      ['old', 'image-of-r', 'newer', 'newest'],
      [0.9, 0.9, 0.9, 0.86, 0.7],
    );
    await garbage.collectImages();
    expect(removed).toEqual(['old', 'newer']);
    const roomy = bench([], ['old'], [0.84]);
    await roomy.garbage.collectImages();
    expect(roomy.removed).toEqual([]);
  });
});
