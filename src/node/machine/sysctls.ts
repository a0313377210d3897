/** Kernel parameters (sysctls): which ones a pod may set on this node, and where the kernel has them. */
import type { Pod } from '../../api/generated/types.ts';

/** Parameters that a kubelet allows by default: they affect the pod alone, and cannot harm the node. */
const safeNames: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
]);

/** Why the node does not run a pod with its parameters, in a kubelet's words. */
export function sysctlProblem({ spec }: Pod): string | undefined {
  const unsafe = spec?.securityContext?.sysctls?.find(({ name = '' }) => !safeNames.has(dotted(name)));
  return unsafe && `forbidden sysctl: ${JSON.stringify(unsafe.name)} not allowlisted`;
}

export const isNetworkSysctl = (name: string): boolean => dotted(name).startsWith('net.');

/** The file of a parameter. */
export const sysctlPath = (name: string): string => `/proc/sys/${swapped(dotted(name))}`;

/** A name with dots. The first separator of a name separates its parts; the other character belongs to a part. */
const dotted = (name: string): string => (/^[^.]*\//.test(name) ? swapped(name) : name);

const swapped = (name: string): string =>
  name.replace(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
