/** Proves the host name that a container sees, and volumes in memory. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mountsBelow } from '../../machine/folder-care.ts';
import { Spawner } from '../../process/spawner.ts';
import { probeNamespaces } from './namespace-root.ts';
import { ProcessPod, TestSession } from './process-pod.fixture.ts';

const spawner = new Spawner();
const namespaces = await probeNamespaces(spawner);
afterAll(() => spawner.close());

describe.runIf(namespaces?.hostnames)('the name of the machine', () => {
  let pod: ProcessPod;
  beforeAll(async () => {
    pod = await ProcessPod.make();
  });
  afterEach(() => pod.clear());
  afterAll(() => pod.close());

  it('is the pod’s for the container and for commands beside it, and no others', async () => {
    const container = await pod.shell('uname -n; cat /proc/sys/kernel/hostname; sleep 60');
    const [piped, terminal] = [new TestSession(), new TestSession({ tty: true })];
    await container.exec(['uname', '-n'], piped);
    await container.exec(['uname', '-n'], terminal);
    expect([piped.out, terminal.out]).toEqual(['web\n', 'web\r\n']);
    expect(await pod.log({ follow: true, limitBytes: 8 })).toBe('web\nweb\n');
    expect(readFileSync('/proc/sys/kernel/hostname', 'utf8').trim()).toBe(hostname());
  });

  it('cannot be changed for the machine by a container', async () => {
    const container = await pod.shell('echo mine > /proc/sys/kernel/hostname; uname -n');
    await container.exited;
    expect(await pod.log()).toBe('mine\n');
    expect(readFileSync('/proc/sys/kernel/hostname', 'utf8').trim()).toBe(hostname());
  });
});

describe.runIf(namespaces)('a volume in memory', () => {
  it('is a file system of its own that all containers share, as large as it may be, and goes with its pod', async () => {
    const pod = await ProcessPod.make();
    const { folder, mountMemory } = await pod.runtime.preparePod(pod.pod);
    const volume = join(folder, 'volumes', 'cache');
    await spawner.run(['mkdir', '-p', volume]);
    for (let i = 0; i < 2; i++)
      await mountMemory!(volume, { mode: 0o2777, group: 77, bytesMax: 1024 * 1024 });
    expect((await mountsBelow(folder)).map(({ type }) => type)).toEqual(['tmpfs']);
    const mounts = [{ path: '/wherry-cache', source: volume, readOnly: false }];
    const first = await pod.shell(
      'echo shared > /wherry-cache/file; stat -f -c %T /wherry-cache; stat -c "%a %g" /wherry-cache; head -c 2000000 /dev/zero > /wherry-cache/big 2>/dev/null || echo full; rm /wherry-cache/big',
      { mounts },
    );
    await first.exited;
    expect(await pod.log()).toBe('tmpfs\n2777 77\nfull\n');
    const second = await pod.shell('cat /wherry-cache/file', { mounts, container: { name: 'other' } });
    await second.exited;
    expect(await pod.log({}, 0, 'other')).toBe('shared\n');
    await pod.runtime.removePod('uid-1');
    expect(await mountsBelow(pod.folder)).toEqual([]);
    expect(pod.errors).toEqual([]);
    await pod.close();
  });

  it('is unmounted when the runtime closes', async () => {
    const pod = await ProcessPod.make();
    const { folder, mountMemory } = await pod.runtime.preparePod(pod.pod);
    const volume = join(folder, 'volumes', 'with blank');
    await spawner.run(['mkdir', '-p', volume]);
    await mountMemory!(volume, { mode: 0o777 });
    await pod.runtime.close();
    expect(await mountsBelow(pod.folder)).toEqual([]);
    await pod.close();
  });
});
