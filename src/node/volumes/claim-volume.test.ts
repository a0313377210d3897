/** Proves which folders claims resolve to, and each reason why a claim cannot be used. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Volume } from '../../api/generated/types.ts';
import { claims, volumes as persistentVolumes } from '../../client/resources.ts';
import { useVolumes } from './pod-volumes.fixture.ts';

const place = useVolumes();

describe('folders of claims', () => {
  const claimed = (name: string, readOnly = false): Volume => ({
    name: 'd',
    persistentVolumeClaim: { claimName: name, readOnly },
  });

  /** A claim and a volume, bound to each other as the controller would. */
  async function bind(name: string, source: object, bound = true): Promise<void> {
    const accessModes = ['ReadWriteOnce'];
    const claim = await place.client.create(claims, 'default', {
      metadata: { name },
      spec: { accessModes, resources: { requests: { storage: '1Gi' } }, volumeName: `pv-${name}` },
    });
    await place.client.create(persistentVolumes, undefined, {
      metadata: { name: `pv-${name}` },
      spec: {
        accessModes,
        capacity: { storage: '1Gi' },
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid: claim.metadata.uid },
        ...source,
      },
    });
    if (bound)
      await place.client.patch(claims, 'default', name, { status: { phase: 'Bound' } }, 'merge', 'status');
  }

  it('are those of the bound volume', async () => {
    // Proves claims on host paths and local folders, and read-only ones.
    await mkdir(join(place.folder, 'disk'));
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'x', operator: 'Exists' }] }];
    await bind('host', { hostPath: { path: join(place.folder, 'disk') } });
    await bind('local', {
      local: { path: join(place.folder, 'disk') },
      nodeAffinity: { required: { nodeSelectorTerms } },
    });
    for (const name of ['host', 'local']) {
      const { volumes, container } = await place.setUp([claimed(name, name === 'local')]);
      expect(await volumes.mounts(container)).toEqual([
        { path: '/d', source: join(place.folder, 'disk'), readOnly: name === 'local' },
      ]);
    }
  });

  it('fail without claim, volume, binding or support', async () => {
    // Proves each reason why a claim cannot be used.
    await bind('unbound', { hostPath: { path: '/tmp' } }, false);
    await bind('remote', { nfs: { server: 's', path: '/p' } });
    await bind('gone', { hostPath: { path: join(place.folder, 'none'), type: 'Directory' } });
    await bind('stolen', { hostPath: { path: '/tmp' } });
    await place.client.patch(persistentVolumes, undefined, 'pv-stolen', {
      spec: { claimRef: { uid: 'other' } },
    });
    const message = async (name: string) => (await place.failure([claimed(name)])).message;
    expect(await message('none')).toBe('persistentvolumeclaim "none" not found');
    expect(await message('unbound')).toBe('error processing PVC default/unbound: PVC is not bound');
    expect(await message('remote')).toBe('the type of PV pv-remote is not supported by this node');
    expect(await message('gone')).toMatch(/^hostPath type check failed: /);
    expect(await message('stolen')).toBe(
      'error processing PVC default/stolen: PV pv-stolen is bound to another claim',
    );
  });
});
