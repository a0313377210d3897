import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from '../../../api/generated/types.ts';
import { containerRights } from './container-rights.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-seccomp-'));
  await writeFile(join(folder, 'strict.json'), '{"defaultAction":"SCMP_ACT_ERRNO"}');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const rightsOf = (
  securityContext: Container['securityContext'],
  ofPod: PodSpec['securityContext'] = {},
  imageUser = '',
) =>
  containerRights(
    { metadata: {}, spec: { securityContext: ofPod } } as Pod,
    { name: 'c', securityContext },
    imageUser,
    folder,
  );

describe('the rights of a container', () => {
  it('are those of the container before those of the pod', async () => {
    expect(
      await rightsOf(
        {
          runAsUser: 1,
          capabilities: { add: ['CAP_NET_ADMIN'], drop: ['all'] },
          allowPrivilegeEscalation: false,
        },
        { runAsUser: 2, runAsGroup: 3, fsGroup: 4, supplementalGroups: [4, 5] },
      ),
    ).toMatchObject({
      user: '1:3',
      groups: [4, 5],
      addedCapabilities: ['NET_ADMIN'],
      droppedCapabilities: ['ALL'],
      noNewPrivileges: true,
      seccomp: 'unconfined',
    });
    expect(await rightsOf({}, {}, 'web')).toMatchObject({ user: undefined });
    expect(await rightsOf({ runAsGroup: 7 }, {}, 'web:1')).toMatchObject({ user: 'web:7' });
  });

  it.each([
    ['', 'container has runAsNonRoot and image will run as root'],
    ['0:0', 'container has runAsNonRoot and image will run as root'],
    [
      'web',
      'container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root',
    ],
  ])('refuse the user %j of an image where root is forbidden', async (user, message) => {
    await expect(rightsOf({ runAsNonRoot: true }, {}, user)).rejects.toThrow(message);
  });

  it('allow a numeric user, of the image or of the pod', async () => {
    await rightsOf({ runAsNonRoot: true }, {}, '1000:0');
    await rightsOf({ runAsNonRoot: true, runAsUser: 5 });
    await expect(rightsOf({ runAsNonRoot: true, runAsUser: 0 })).rejects.toThrow('breaks non-root policy');
  });

  it('take seccomp profiles from the folder of the node only', async () => {
    // Proves that a pod cannot read other files of the machine by the name of a profile.
    const local = (localhostProfile: string) =>
      rightsOf({ seccompProfile: { type: 'Localhost', localhostProfile } });
    expect((await local('strict.json')).seccomp).toEqual({
      profile: '{"defaultAction":"SCMP_ACT_ERRNO"}',
      path: join(folder, 'strict.json'),
    });
    await expect(local('../../etc/passwd')).rejects.toThrow('outside of its folder');
    await expect(local('none.json')).rejects.toThrow('ENOENT');
    expect((await rightsOf({ seccompProfile: { type: 'RuntimeDefault' } })).seccomp).toBe('default');
  });
});
