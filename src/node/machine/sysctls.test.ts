/** Proves which kernel parameters a pod may set, and the files they are in. */
import { expect, it } from 'vitest';
import { refusalOf } from '../pods/pod-admission.ts';
import { isNetworkSysctl, sysctlPath } from './sysctls.ts';

const podWith = (...names: string[]) => ({
  metadata: { name: 'p' },
  spec: { securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) } },
});
const refusal = (...names: string[]) =>
  refusalOf(podWith(...names), { count: 0, pods: () => [] }, { pods: '110' }, 'linux');

it('safe ones are let through, with dots or slashes', () => {
  expect(refusal()).toBeUndefined();
  expect(refusal('kernel.shm_rmid_forced', 'net/ipv4/tcp_syncookies')).toBeUndefined();
});

it('a pod with another one is refused', () => {
  expect(refusal('kernel.shm_rmid_forced', 'kernel.msgmax')).toEqual({
    reason: 'SysctlForbidden',
    message: 'forbidden sysctl: "kernel.msgmax" not allowlisted',
  });
});

it('the first separator decides what the others mean', () => {
  expect(sysctlPath('kernel.shm_rmid_forced')).toBe('/proc/sys/kernel/shm_rmid_forced');
  expect(sysctlPath('kernel/shm_rmid_forced')).toBe('/proc/sys/kernel/shm_rmid_forced');
  expect(sysctlPath('net.ipv4.conf.eno2/100.rp_filter')).toBe('/proc/sys/net/ipv4/conf/eno2.100/rp_filter');
  expect(sysctlPath('net/ipv4/conf/eno2.100/rp_filter')).toBe('/proc/sys/net/ipv4/conf/eno2.100/rp_filter');
  expect([isNetworkSysctl('net/core/somaxconn'), isNetworkSysctl('kernel.sem')]).toEqual([true, false]);
});
