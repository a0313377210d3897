/**
 * The packet filter of a pod: nftables rules inside the pod's own network namespace, so that the machine's filter is
 * never touched, and the rules vanish with the namespace. Replies pass by connection tracking.
 */
import { spawn } from 'node:child_process';
import type { Spawner } from '../process/spawner.ts';
import { helperEnv } from '../process/spawner.ts';
import { namespacePath } from './ip-route.ts';
import type { Allowance, AllowedPorts, PodRules } from './policy-rules.ts';

const table = 'inet wherry';
const runMs = 30_000;
const complaintCharsMax = 500;

/** Addresses that a pod may always reach or be reached from. */
export interface FilterSurroundings {
  /** Addresses of the node: traffic of a pod with its own node is always allowed. */
  readonly node: readonly string[];
  /** The address of the name server. */
  readonly nameServer: string;
  /** Ranges of services: the service proxy decides about those connections, because it knows the pod behind them. */
  readonly services: readonly string[];
}

/** The commands that set the rules of a pod, or remove them when it is not isolated. */
export function filterScript({ ingress, egress }: PodRules, around: FilterSurroundings): string {
  // Adding the table first makes deleting it work even if it does not exist. The script takes effect as a whole or not
  // at all.
  const lines = [`add table ${table}`, `delete table ${table}`];
  if (!ingress && !egress) return `${lines.join('\n')}\n`;
  lines.push(`add table ${table}`);
  const { node, nameServer, services } = around;
  if (ingress)
    lines.push(
      ...chain('in', 'input', 'iif', [
        `ip saddr ${set(node)} accept`,
        ...ingress.flatMap((allowance) => rules(allowance, 'saddr')),
      ]),
    );
  if (egress)
    lines.push(
      ...chain('out', 'output', 'oif', [
        `ip daddr ${set(node)} accept`,
        `ip daddr ${nameServer} meta l4proto { tcp, udp } th dport 53 accept`,
        `ip daddr ${set(services)} accept`,
        ...egress.flatMap((allowance) => rules(allowance, 'daddr')),
      ]),
    );
  return `${lines.join('\n')}\n`;
}

const chain = (name: string, hook: string, device: string, statements: readonly string[]): string[] => [
  `add chain ${table} ${name} { type filter hook ${hook} priority 0; policy drop; }`,
  ...[`${device} lo accept`, 'ct state established,related accept', ...statements].map(
    (statement) => `add rule ${table} ${name} ${statement}`,
  ),
];

const set = (items: readonly string[]): string => `{ ${[...new Set(items)].join(', ')} }`;

function rules({ addresses, ports }: Allowance, side: 'saddr' | 'daddr'): string[] {
  const wheres = addresses
    ? [
        // Addresses without exceptions share one rule, because there may be thousands of pods.
        ...plainOf(addresses).map((all) => `ip ${side} ${set(all)} `),
        ...addresses
          .filter(({ except }) => except.length)
          .map(({ cidr, except }) => `ip ${side} ${cidr} ip ${side} != ${set(except)} `),
      ]
    : [''];
  const whats = ports ? portMatches(ports) : [''];
  return wheres.flatMap((where) => whats.map((what) => `${where}${what}accept`));
}

function plainOf(addresses: NonNullable<Allowance['addresses']>): string[][] {
  const plain = addresses.filter(({ except }) => except.length === 0).map(({ cidr }) => cidr);
  const single = plain.filter((cidr) => cidr.endsWith('/32')).map((cidr) => cidr.slice(0, -3));
  // Ranges may overlap, which a set refuses.
  return [
    ...(single.length ? [single] : []),
    ...plain.filter((cidr) => !cidr.endsWith('/32')).map((cidr) => [cidr]),
  ];
}

const portMatches = (ports: readonly AllowedPorts[]): string[] =>
  ports
    .filter(({ protocol }) => ['TCP', 'UDP', 'SCTP'].includes(protocol))
    .map(({ protocol, first, last }) => `${protocol.toLowerCase()} dport ${first}-${last} `);

/** Why packets cannot be filtered here; undefined when they can. */
export const filterProblem = (spawner: Spawner): string | undefined =>
  spawner.tool('nft') ? undefined : 'there is no program called nft';

/** Runs a script of nftables in a network namespace. */
export function runFilter(spawner: Spawner, namespace: string, script: string): Promise<void> {
  const [nsenter, nft] = [spawner.tool('nsenter')!, spawner.tool('nft')!];
  return new Promise((resolve, reject) => {
    const child = spawn(nsenter, [`--net=${namespacePath(namespace)}`, '--', nft, '-f', '-'], {
      env: helperEnv,
      stdio: ['pipe', 'ignore', 'pipe'],
      cwd: '/',
      timeout: runMs,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < complaintCharsMax) said += text;
    });
    child.stdin.on('error', () => undefined).end(script);
    child.once('error', reject).once('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new Error(`the packet filter refused its rules: ${said.slice(0, complaintCharsMax).trim()}`));
    });
  });
}
