/** The host name of a pod, and its /etc/hosts. */
import { readFile } from 'node:fs/promises';
import type { HostAlias, Node, Pod } from '../../api/generated/types.ts';

const hostnameCharsMax = 63;
/** The kernel's limit for host names. */
const kernelNameCharsMax = 64;
const clusterDomain = 'cluster.local';
/** A larger /etc/hosts of the node is not included. */
const hostsBytesMax = 1024 * 1024;

/** The pod's host name; a pod on the node's network has the node's. */
export function podHostname(pod: Pod, node: Node): string {
  return ownHostname(pod) ?? node.metadata.labels?.['kubernetes.io/hostname'] ?? node.metadata.name ?? '';
}

/** The pod's own host name; undefined for a pod on the node's network. */
export function ownHostname(pod: Pod): string | undefined {
  const { hostNetwork, setHostnameAsFQDN } = pod.spec ?? {};
  if (hostNetwork) return undefined;
  const full = setHostnameAsFQDN ? fullName(pod) : undefined;
  return full !== undefined && full.length <= kernelNameCharsMax ? full : shortName(pod);
}

function shortName({ metadata, spec }: Pod): string {
  const name = spec?.hostnameOverride || spec?.hostname || metadata.name || '';
  return name.slice(0, hostnameCharsMax).replace(/[-.]+$/, '');
}

/** The FQDN of a pod with a subdomain of a headless service. */
function fullName(pod: Pod): string | undefined {
  const { subdomain, hostnameOverride } = pod.spec ?? {};
  if (!subdomain || hostnameOverride) return undefined;
  return `${shortName(pod)}.${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}`;
}

/** `sharesNetwork`: the pod uses the machine's network, so the machine's own entries are included. */
export async function hostsFile(pod: Pod, podIP: string, sharesNetwork: boolean): Promise<string> {
  const { hostNetwork, hostAliases = [] } = pod.spec ?? {};
  const own = podIP && !hostNetwork ? ownLine(pod, podIP) : '';
  const hosts = hostNetwork || sharesNetwork ? await nodeHosts() : ownHosts;
  return `# Kubernetes-managed hosts file${hostNetwork ? ' (host network)' : ''}.\n${hosts}${own}${aliasLines(hostAliases)}`;
}

function ownLine(pod: Pod, podIP: string): string {
  const full = fullName(pod);
  return `${podIP}\t${full === undefined ? '' : `${full}\t`}${shortName(pod)}\n`;
}
const ownHosts = `${[
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
].join('\n')}\n`;

async function nodeHosts(): Promise<string> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '');
  return text.length > hostsBytesMax ? '' : text.replace(/(?<!\n)$/, '\n');
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip = '', hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
