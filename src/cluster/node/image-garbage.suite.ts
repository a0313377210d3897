/** Which images of a real engine are removed when its disk is full. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { EngineContext } from '../../node/runtime/engine/container-engine.ts';
import { type TestEngine, testImage } from '../../node/runtime/engine/engine.fixture.ts';
import { EngineGarbage } from '../../node/runtime/engine/engine-garbage.ts';
import { EngineImages } from '../../node/runtime/engine/engine-images.ts';

const unusedMs = 120_000;

/** `image` needs the secret to be pulled. */
export async function collectsImages(
  engine: TestEngine,
  image: string,
  data: Readonly<Record<string, string>>,
): Promise<void> {
  const { calls, store } = engine;
  const folder = await mkdtemp(join(tmpdir(), 'wherry-garbage-'));
  let nowMs = 1_000_000;
  const errors: Error[] = [];
  const common = { now: () => nowMs, onError: (error: Error) => void errors.push(error) };
  const metadata = { name: 'pull', namespace: 'default', uid: 'garbage' };
  const secret = async () => ({ metadata, type: 'kubernetes.io/dockerconfigjson', data });
  const images = new EngineImages({ store, file: join(folder, 'images.json'), secret, ...common });
  const noPods = { isKnown: () => true, removePod: async () => undefined };
  const context = { calls, images, ...common } as unknown as EngineContext;
  const garbage = new EngineGarbage(context, noPods, async () => 0.9);
  const collect = async () => {
    await garbage.collectImages();
    const isThere = (await store.find(image)) !== undefined;
    return { isThere, isNoted: (await images.pulledImages()).length === 1 };
  };
  try {
    const pod = { metadata, spec: { imagePullSecrets: [{ name: 'pull' }] } };
    await images.resolve({ pod, container: { name: 'c', image }, tell: () => undefined });
    expect(await collect(), 'just used').toEqual({ isThere: true, isNoted: true });
    nowMs += unusedMs + 1;
    const strange = await engine.makeStranger(image);
    expect(await collect(), 'used by others').toEqual({ isThere: true, isNoted: true });
    for (const [i, id] of strange.entries()) await calls.delete(id, i > 0);
    expect(await collect(), 'unused').toEqual({ isThere: false, isNoted: false });
    expect(await store.find(testImage), 'never pulled').toBeDefined();
    expect(errors).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
