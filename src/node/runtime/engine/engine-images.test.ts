import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, Secret } from '../../../api/generated/types.ts';
import type { ImageError } from '../runtime.ts';
import { EngineImages, type StoredImage } from './engine-images.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-images-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const stored = (id: string): StoredImage => ({
  id,
  repoDigests: [`registry.example.com/app@sha256:${'b'.repeat(64)}`],
  sizeBytes: 7,
  entrypoint: [],
  args: [],
  env: {},
  workingDir: '',
  user: '',
});

const secret: Secret = {
  metadata: { name: 's' },
  type: 'kubernetes.io/dockerconfigjson',
  data: {
    '.dockerconfigjson': Buffer.from(
      JSON.stringify({ auths: { 'registry.example.com': { username: 'u', password: 'p' } } }),
    ).toString('base64'),
  },
};

class Registry {
  readonly there = new Map<string, StoredImage>();
  readonly pulls: (string | undefined)[] = [];
  needsPassword = false;

  images(): EngineImages {
    return new EngineImages({
      store: {
        find: async (image) => this.there.get(image),
        pull: async (_name, credentials) => {
          this.pulls.push(credentials?.username);
          await new Promise((resolve) => setImmediate(resolve));
          if (this.needsPassword && !credentials) throw new Error('no basic auth credentials');
          this.there.set('registry.example.com/app:1', stored('sha256:1'));
        },
      },
      file: join(folder, 'images.json'),
      secret: async () => secret,
      now: () => 1_000,
      onError: (error) => {
        throw error;
      },
    });
  }
}

const resolve = async (
  images: EngineImages,
  policy: string,
  withSecret = false,
  image = 'registry.example.com/app:1',
) => {
  const told: string[] = [];
  const pod = {
    metadata: { namespace: 'default' },
    spec: withSecret ? { imagePullSecrets: [{ name: 's' }] } : {},
  } as Pod;
  const tell = (_type: string, reason: string) => void told.push(reason);
  const found = await images
    .resolve({ pod, container: { name: 'c', image, imagePullPolicy: policy }, tell })
    .catch((error: ImageError) => error);
  return { found, told };
};

describe('images of an engine', () => {
  it('are pulled as the policy says', async () => {
    const registry = new Registry();
    const images = registry.images();
    expect((await resolve(images, 'Never')).found).toMatchObject({ reason: 'ErrImageNeverPull' });
    expect((await resolve(images, 'IfNotPresent')).told).toEqual(['Pulling']);
    expect((await resolve(images, 'IfNotPresent')).told).toEqual([]);
    expect((await resolve(images, 'Always')).told).toEqual(['Pulling']);
    expect(registry.pulls).toHaveLength(2);
    expect((await resolve(images, 'Never')).found).toMatchObject({
      engine: { id: 'sha256:1', shownId: `registry.example.com/app@sha256:${'b'.repeat(64)}` },
    });
    expect((await resolve(images, 'Always', false, 'a:b:c')).found).toMatchObject({
      reason: 'InvalidImageName',
    });
  });

  it('are pulled once for pods that start together', async () => {
    const registry = new Registry();
    const images = registry.images();
    await Promise.all(Array.from({ length: 5 }, () => resolve(images, 'IfNotPresent')));
    expect(registry.pulls).toHaveLength(1);
  });

  it('that were pulled with a secret are only for pods that have it, also under the next agent', async () => {
    // Proves that a pod cannot use a private image just because another one has pulled it.
    const registry = new Registry();
    registry.needsPassword = true;
    const first = await resolve(registry.images(), 'IfNotPresent', true);
    expect(first.found).toMatchObject({ engine: { id: 'sha256:1' } });
    const next = registry.images();
    const stranger = await resolve(next, 'IfNotPresent');
    expect(stranger.found).toMatchObject({ reason: 'ErrImagePull', message: 'no basic auth credentials' });
    expect((await resolve(next, 'IfNotPresent', true)).told).toEqual([]);
    expect(registry.pulls).toEqual(['u', undefined]);
    // The same image under another name, given to it on this machine.
    registry.there.set('localhost/mine:1', stored('sha256:1'));
    expect((await resolve(next, 'Never', false, 'localhost/mine:1')).found).toMatchObject({ entrypoint: [] });
  });
});
