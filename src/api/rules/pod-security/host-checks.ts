/** Checks of what a pod shares with its node: namespaces, paths, ports, hosts that probes reach. */
import type { LifecycleHandler, Probe } from '../../generated/types.ts';
import { containersText, type PodCheck, plural, quoted, settersText, sortedSet } from './check.ts';

export const hostNamespaces: PodCheck = {
  id: 'hostNamespaces',
  level: 'baseline',
  since: 0,
  run({ spec }) {
    const set = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name]);
    if (set.length === 0) return undefined;
    return { reason: 'host namespaces', detail: set.map((name) => `${name}=true`).join(', ') };
  },
};

export const hostPathVolumes: PodCheck = {
  id: 'hostPathVolumes',
  level: 'baseline',
  since: 0,
  run({ spec: { volumes = [] } }) {
    const names = volumes.filter(({ hostPath }) => hostPath).map(({ name = '' }) => name);
    if (names.length === 0) return undefined;
    return {
      reason: 'hostPath volumes',
      detail: `${plural('volume', 'volumes', names.length)} ${quoted(names)}`,
    };
  },
};

export const hostPorts: PodCheck = {
  id: 'hostPorts',
  level: 'baseline',
  since: 0,
  run({ containers }) {
    const hosting = containers.filter(({ ports = [] }) => ports.some(({ hostPort }) => hostPort));
    if (hosting.length === 0) return undefined;
    const all = hosting.flatMap(({ ports = [] }) => ports.flatMap(({ hostPort }) => hostPort || []));
    const ports = sortedSet(all.map(String));
    const uses = `${plural('uses', 'use', hosting.length)} ${plural('hostPort', 'hostPorts', ports.length)}`;
    return {
      reason: 'hostPort',
      detail: `${containersText(hosting.map(({ name }) => name))} ${uses} ${ports.join(', ')}`,
    };
  },
};

/** A probe of another host would let a pod send requests from its node. */
export const hostProbes: PodCheck = {
  id: 'hostProbesAndHostLifecycle',
  level: 'baseline',
  since: 34,
  run({ containers }) {
    const names: string[] = [];
    const hosts: string[] = [];
    for (const { name, livenessProbe, readinessProbe, startupProbe, lifecycle } of containers) {
      const handlers = [
        livenessProbe,
        readinessProbe,
        startupProbe,
        lifecycle?.postStart,
        lifecycle?.preStop,
      ];
      const own = handlers.flatMap(hostsOf);
      if (own.length) names.push(name);
      hosts.push(...own);
    }
    if (names.length === 0) return undefined;
    const all = sortedSet(hosts);
    const uses = `${plural('uses', 'use', names.length)} probe or lifecycle ${plural('host', 'hosts', all.length)}`;
    return {
      reason: 'probe or lifecycle host',
      detail: `${containersText(sortedSet(names))} ${uses} ${quoted(all)}`,
    };
  },
};

const hostsOf = (handler: Probe | LifecycleHandler | undefined): string[] =>
  [handler?.httpGet?.host, handler?.tcpSocket?.host].filter((host) => host !== undefined).filter(Boolean);

export const windowsHostProcess: PodCheck = {
  id: 'windowsHostProcess',
  level: 'baseline',
  since: 0,
  run(pod) {
    const podSets = pod.security.windowsOptions?.hostProcess === true;
    const names = pod.named(({ windowsOptions }) => windowsOptions?.hostProcess === true);
    if (!podSets && names.length === 0) return undefined;
    return {
      reason: 'hostProcess',
      detail: `${settersText(podSets, names)} must not set securityContext.windowsOptions.hostProcess=true`,
    };
  },
};
