/** Proves which ports and ranges a cluster gets beside others, and where each system keeps clusters. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { allot } from './allotment.ts';
import type { ClusterRecord } from './cluster-record.ts';
import { dataHome } from './data-home.ts';

const open = { port: true, securePort: true, serviceRange: true, podRange: true };
const others = (count: number): ClusterRecord[] =>
  Array.from({ length: count }, (_, i) => ({
    name: `c${i}`,
    port: 8080 + i,
    securePort: 6443 + i,
    serviceRange: `10.0.${i}.0/24`,
    podRange: `10.${217 + i}.0.0/16`,
  }));

describe('a cluster', () => {
  it('gets what no other has, running or not', async () => {
    const { port, securePort, serviceRange, podRange } = await allot(open, undefined, others(3));
    expect(port).toBeGreaterThanOrEqual(8083);
    expect(securePort).toBeGreaterThanOrEqual(6446);
    expect({ serviceRange, podRange }).toEqual({ serviceRange: '10.0.3.0/24', podRange: '10.220.0.0/16' });
  });

  it('gets what it had before', async () => {
    const former = {
      name: 'a',
      port: 1,
      securePort: 2,
      serviceRange: '10.9.0.0/24',
      podRange: '10.8.0.0/16',
    };
    const { name: _name, ...had } = former;
    expect(await allot(open, former, others(3))).toEqual(had);
  });

  it('that takes any port gets the one it had, if that is free', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const any = { port: 'any', securePort: 'any', serviceRange: false, podRange: false } as const;
    expect(await allot(any, { name: 'a', port }, [])).toEqual({});
    server.close();
    await once(server, 'close');
    expect(await allot(any, { name: 'a', port }, [])).toEqual({ port });
  });

  it('gets nothing that its options say', async () => {
    const given = { port: false, securePort: false, serviceRange: false, podRange: false };
    expect(await allot(given, undefined, others(1))).toEqual({});
  });

  it('gets ranges that overlap with none of another, be it of services or of pods', async () => {
    const wide = [
      { name: 'a', serviceRange: '10.0.0.0/22,fd00::/112', podRange: '10.217.128.0/17' },
      { name: 'b', serviceRange: '10.218.7.0/24', podRange: '10.0.4.0/24' },
    ];
    const { serviceRange, podRange } = await allot(open, undefined, wide);
    expect({ serviceRange, podRange }).toEqual({ serviceRange: '10.0.5.0/24', podRange: '10.219.0.0/16' });
  });

  it('shares a range with one that does not run, when none is left', async () => {
    const { serviceRange, podRange } = await allot(open, undefined, others(200));
    expect({ serviceRange, podRange }).toEqual({ serviceRange: '10.0.0.0/24', podRange: '10.217.0.0/16' });
  });
});

describe('clusters are kept', () => {
  const home = () => '/home/me';
  it.each([
    ['linux', {}, '/home/me/.local/share/wherry'],
    ['linux', { XDG_DATA_HOME: '/data' }, '/data/wherry'],
    ['linux', { XDG_DATA_HOME: 'relative' }, '/home/me/.local/share/wherry'],
    ['darwin', {}, '/home/me/Library/Application Support/wherry'],
    ['win32', { LOCALAPPDATA: '/local' }, '/local/wherry/Data'],
    ['win32', {}, '/home/me/AppData/Local/wherry/Data'],
  ] as const)('on %s with %j in %s', (platform, env, folder) => {
    expect(dataHome({ env, platform, home })).toBe(folder);
  });

  it('nowhere, where nobody knows the home of the user', () => {
    const machine = { env: {}, platform: 'linux', home: () => undefined } as const;
    expect(() => dataHome(machine)).toThrow(/the home folder of this user is not known: set HOME or XDG_/);
    expect(dataHome({ ...machine, env: { XDG_DATA_HOME: '/data' } })).toBe('/data/wherry');
  });
});
