/** The resolv.conf of a pod: its name servers and search domains. */
import { isIP } from 'node:net';
import type { Pod } from '../../api/generated/types.ts';
import type { ResolverConfig } from './dns-forward.ts';
import { clusterDomain } from './dns-records.ts';

const nameserversMax = 3;
const searchesMax = 32;
/** Names with fewer dots are tried with the search domains first; Kubernetes' value. */
const clusterOptions = ['ndots:5'];

/**
 * `nameserver` is the node's name server. Pods with their own network cannot reach the machine's name
 * servers, so with dnsPolicy `Default` they use the node's, which forwards to those. Undefined when the pod
 * is to see the machine's own file.
 */
export function resolvConf(pod: Pod, nameserver: string, machine: ResolverConfig): string | undefined {
  const { dnsPolicy = 'ClusterFirst', dnsConfig, hostNetwork } = pod.spec ?? {};
  const shared = hostNetwork && (dnsPolicy === 'Default' || dnsPolicy === 'ClusterFirst');
  if (shared && !dnsConfig) return undefined;
  const base = shared ? machine : baseOf(dnsPolicy, pod.metadata.namespace ?? 'default', nameserver, machine);
  const nameservers = unique([...base.nameservers, ...(dnsConfig?.nameservers ?? [])]).filter((one) =>
    isIP(one),
  );
  const searches = unique([...base.searches, ...(dnsConfig?.searches ?? [])]).filter(isWord);
  const own = (dnsConfig?.options ?? []).map(({ name = '', value }) => (value ? `${name}:${value}` : name));
  const names = new Set(own.map(optionName));
  const options = [...base.options.filter((option) => !names.has(optionName(option))), ...own].filter(isWord);
  return [
    ...nameservers.slice(0, nameserversMax).map((one) => `nameserver ${one}`),
    ...(searches.length ? [`search ${searches.slice(0, searchesMax).join(' ')}`] : []),
    ...(options.length ? [`options ${options.join(' ')}`] : []),
    '',
  ].join('\n');
}

function baseOf(
  policy: string,
  namespace: string,
  nameserver: string,
  machine: ResolverConfig,
): ResolverConfig {
  if (policy === 'None') return { nameservers: [], searches: [], options: [] };
  if (policy === 'Default') return { ...machine, nameservers: [nameserver] };
  const searches = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { nameservers: [nameserver], searches: [...searches, ...machine.searches], options: clusterOptions };
}

const unique = (words: readonly string[]): string[] => [...new Set(words)];

/** Rejects whitespace and comment characters, which would break the line or start a new one. */
const isWord = (text: string): boolean => /^[^\s#;]+$/.test(text);

const optionName = (option: string): string => option.split(':')[0]!;
