/** The name of a pod on its network, and the hosts file that knows it. */
import { readFile } from 'node:fs/promises';
import type { HostAlias, Node, Pod } from '../../api/generated/types.ts';

const hostnameCharsMax = 63;
const clusterDomain = 'cluster.local';
/** A node's own hosts file beyond this size is left out. */
const hostsBytesMax = 1024 * 1024;

/** What the pod's machine is called; a pod on the node's network has the node's name. */
export function podHostname({ metadata, spec }: Pod, node: Node): string {
  if (spec?.hostNetwork) return node.metadata.labels?.['kubernetes.io/hostname'] ?? node.metadata.name ?? '';
  const name = spec?.hostnameOverride || spec?.hostname || metadata.name || '';
  return name.slice(0, hostnameCharsMax).replace(/[-.]+$/, '');
}

export async function hostsFile(pod: Pod, node: Node, podIP: string): Promise<string> {
  const { hostNetwork, hostAliases = [] } = pod.spec ?? {};
  const hosts = hostNetwork ? await nodeHosts() : podHosts(pod, node, podIP);
  return `# Kubernetes-managed hosts file${hostNetwork ? ' (host network)' : ''}.\n${hosts}${aliasLines(hostAliases)}`;
}

function podHosts(pod: Pod, node: Node, podIP: string): string {
  const name = podHostname(pod, node);
  const { subdomain, hostnameOverride } = pod.spec ?? {};
  const full =
    subdomain && !hostnameOverride
      ? `${name}.${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}\t`
      : '';
  const lines = [
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    'fe00::0\tip6-localnet',
    'fe00::0\tip6-mcastprefix',
    'fe00::1\tip6-allnodes',
    'fe00::2\tip6-allrouters',
    ...(podIP ? [`${podIP}\t${full}${name}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

async function nodeHosts(): Promise<string> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '');
  return text.length > hostsBytesMax ? '' : text;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip = '', hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
