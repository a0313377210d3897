/** Warnings about ports of containers that are declared twice, or that stand in each other's way. */
import { child, index } from '../../errors/field-error.ts';
import type { ContainerPort, PodSpec } from '../../generated/types.ts';
import { goQuoted } from '../../model/go-format.ts';
import { withContainers } from './container-warnings.ts';

interface Declared {
  /** Position among all ports: warnings name others in this order. */
  readonly position: number;
  readonly path: string;
  readonly port: ContainerPort;
}

/** Ports of one number and protocol. Kept so that those that a port collides with are found without a search. */
class SamePorts {
  readonly all: Declared[] = [];
  readonly #unpublished: Declared[] = [];
  readonly #anywhere = new Map<number, Declared[]>();
  readonly #addressed = new Map<number, Declared[]>();
  readonly #exact = new Map<string, Declared[]>();

  add(declared: Declared): void {
    const { hostPort = 0, hostIP = '' } = declared.port;
    this.all.push(declared);
    if (hostPort === 0) this.#unpublished.push(declared);
    else push(hostIP === '' ? this.#anywhere : this.#addressed, hostPort, declared);
    push(this.#exact, identity(declared.port), declared);
  }

  /** Every port in the answer is worth a warning. */
  colliding(port: ContainerPort): readonly Declared[] {
    const { hostPort = 0, hostIP = '' } = port;
    if (hostPort === 0) return this.all;
    const ambiguous = (hostIP === '' ? this.#addressed : this.#anywhere).get(hostPort) ?? [];
    const same = this.#exact.get(identity(port)) ?? [];
    return [...this.#unpublished, ...ambiguous, ...same].sort((a, b) => a.position - b.position);
  }
}

const identity = ({ hostPort = 0, hostIP = '' }: ContainerPort): string => `${hostPort}/${hostIP}`;

function push<Key>(lists: Map<Key, Declared[]>, name: Key, declared: Declared): void {
  const list = lists.get(name);
  if (list) list.push(declared);
  else lists.set(name, [declared]);
}

export function* portWarnings(spec: PodSpec, path: string): Generator<string, void, undefined> {
  if (!mayCollide(spec)) return;
  const declared = [...withPorts(spec, path)];
  const groups = new Map<string, SamePorts>();
  for (const one of declared) {
    const { port } = one;
    if (port.hostIP && !port.hostPort) yield `${one.path}: hostIP set without hostPort: ${portText(port)}`;
    const name = `${port.containerPort ?? 0}/${port.protocol}`;
    const others = groups.get(name) ?? new SamePorts();
    groups.set(name, others);
    for (const other of others.colliding(port))
      yield `${one.path}: ${collision(port, other.port)} port definition with ${other.path}`;
    others.add(one);
  }
  const names = new Map<string, string>();
  for (const { path: entry, port } of declared) {
    if (!port.name) continue;
    const other = names.get(port.name);
    if (other)
      yield `${entry}: duplicate port name ${goQuoted(port.name)} with ${other}, services and probes that select ports by name will use ${other}`;
    else names.set(port.name, entry);
  }
}

/** Most pods have one port, which needs no comparing. */
function mayCollide({ initContainers = [], containers = [], ephemeralContainers = [] }: PodSpec): boolean {
  let count = 0;
  for (const list of [initContainers, containers, ephemeralContainers])
    for (const { ports } of list) {
      count += ports?.length ?? 0;
      if (count > 1 || ports?.[0]?.hostIP) return true;
    }
  return false;
}

function* withPorts(spec: PodSpec, path: string): Generator<Declared, void, undefined> {
  let position = 0;
  for (const [{ ports = [] }, containerPath] of withContainers(spec, path))
    for (const [i, port] of ports.entries())
      yield { position: position++, path: index(child(containerPath, 'ports'), i), port };
}

function collision(port: ContainerPort, other: ContainerPort): string {
  if (identity(port) === identity(other)) return 'duplicate';
  return !port.hostPort || !other.hostPort ? 'overlapping' : 'dangerously ambiguous';
}

/** As Go prints the structure. */
const portText = ({
  name = '',
  hostPort = 0,
  containerPort = 0,
  protocol = '',
  hostIP = '',
}: ContainerPort) =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
