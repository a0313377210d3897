/** Proves the tokens in containers' volumes: their subject, their file permissions, and their renewal. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Pod, Volume } from '../../api/generated/types.ts';
import { configMaps, pods } from '../../client/resources.ts';
import { isRoot, useVolumes } from '../volumes/pod-volumes.fixture.ts';

const place = useVolumes();

describe('tokens', () => {
  const minute = 60_000;

  it('of the standard volume are there without a certificate', async () => {
    // Proves the volume every pod gets in a cluster without a CA, and the certificate in it once there is one.
    const pod = await place.client.create(pods, 'default', {
      metadata: { name: 'standard' },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
    });
    const volumes = place.volumesOf(pod);
    await volumes.setUp();
    const [mount] = await volumes.mounts(pod.spec!.containers![0]!);
    expect(mount).toMatchObject({ path: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true });
    const { name } = pod.spec!.volumes![0]!;
    expect(await place.visible(name!)).toEqual(['namespace', 'token']);
    expect(await place.file(name!, 'namespace')).toBe('default');
    const claimsOf = decodeJwt(await place.file(name!, 'token'));
    expect(claimsOf.sub).toBe('system:serviceaccount:default:default');
    expect(claimsOf['kubernetes.io']).toMatchObject({
      pod: { name: 'standard', uid: pod.metadata.uid },
      warnafter: claimsOf.iat! + 3607,
    });
    // Accepted for a year, for programs that read the file only once.
    expect(claimsOf.exp! - claimsOf.iat!).toBe(365 * 86_400);
    await place.client.create(configMaps, 'default', {
      metadata: { name: 'kube-root-ca.crt' },
      data: { 'ca.crt': 'PEM' },
    });
    await volumes.refresh();
    expect(await place.file(name!, 'ca.crt')).toBe('PEM');
    await place.client.delete(configMaps, 'default', 'kube-root-ca.crt');
  });

  const tokenVolume = (audience: string | undefined, expirationSeconds: number): Volume => ({
    name: 't',
    projected: { sources: [{ serviceAccountToken: { path: 'token', audience, expirationSeconds } }] },
  });

  it('are for their audience, and are renewed at four fifths of their life', async () => {
    // Proves audience and lifetime of a token, and when it is renewed.
    const { volumes } = await place.setUp([tokenVolume('vault', 1000)]);
    const first = await place.file('t', 'token');
    expect(decodeJwt(first).aud).toEqual(['vault']);
    place.clockMs += 790_000;
    await volumes.refresh();
    expect(await place.file('t', 'token')).toBe(first);
    place.clockMs += 11_000;
    await volumes.refresh();
    const second = await place.file('t', 'token');
    expect(second).not.toBe(first);
    expect(decodeJwt(second).aud).toEqual(['vault']);
  });

  it('are renewed every day, and when the clock is set back', async () => {
    // Proves the other two reasons for renewal.
    const { volumes } = await place.setUp([tokenVolume(undefined, 30 * 24 * 3600)]);
    const first = await place.file('t', 'token');
    place.clockMs += 24 * 60 * minute - minute;
    await volumes.refresh();
    expect(await place.file('t', 'token')).toBe(first);
    place.clockMs += 2 * minute;
    await volumes.refresh();
    const second = await place.file('t', 'token');
    expect(second).not.toBe(first);
    place.clockMs -= 3 * 24 * 60 * minute;
    await volumes.refresh();
    expect(await place.file('t', 'token')).not.toBe(second);
  });

  it('stay in use while they are good, when there is no newer one', async () => {
    // Proves that a pod whose token cannot be renewed keeps the old one until it expires, and that both cases
    // are reported.
    const { pod, volumes } = await place.setUp([tokenVolume(undefined, 600)]);
    const first = await place.file('t', 'token');
    await place.client.delete(pods, 'default', pod.metadata.name!, { gracePeriodSeconds: 0 });
    place.clockMs += 500_000;
    await volumes.refresh();
    expect(place.errors.map(({ name }) => name)).toEqual(['StatusError']);
    place.clockMs += 200_000;
    await volumes.refresh();
    expect(place.errors[1]!.message).toMatch(/^token expired and refresh failed: /);
    expect(await place.file('t', 'token')).toBe(first);
  });

  it('need their account', async () => {
    // Proves the failure of a pod whose service account was deleted.
    const pod = await place.createPod([tokenVolume(undefined, 600)]);
    const stranger: Pod = { ...pod, spec: { ...pod.spec, serviceAccountName: 'nobody' } };
    await expect(place.volumesOf(stranger).setUp()).rejects.toThrow(
      'failed to fetch token: serviceaccounts "nobody" not found',
    );
  });

  it.runIf(isRoot)('are for the user of the pod alone', async () => {
    // Proves file owner and mode: with one user for all containers, and with an fsGroup.
    await place.setUp([tokenVolume(undefined, 600)], { securityContext: { runAsUser: 1234 } });
    const own = await stat(join(place.folder, 'volumes/t/token'));
    expect([own.uid, own.mode & 0o777]).toEqual([1234, 0o600]);
    await rm(join(place.folder, 'volumes'), { recursive: true });
    await place.setUp([tokenVolume(undefined, 600)], { securityContext: { fsGroup: 4321 } });
    const shared = await stat(join(place.folder, 'volumes/t/token'));
    expect([shared.uid, shared.gid, shared.mode & 0o777]).toEqual([0, 4321, 0o640]);
  });
});
