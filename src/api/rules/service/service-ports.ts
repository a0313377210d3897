/** Service ports: defaults, rules, and keeping node ports on update. */
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type { ServicePort, ServiceSpec } from '../../generated/types.ts';
import { isLabel1123, isPortName, isPortNumber, isQualifiedName } from '../../values/names.ts';
import { hasHealthCheckPort, hasNodePorts, isHeadless } from './service-type.ts';

const path = 'spec.ports';
const protocols: readonly string[] = ['SCTP', 'TCP', 'UDP'];

export function defaultPorts(spec: ServiceSpec): void {
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    port.targetPort ||= port.port;
  }
}

/** The node ports of a service. */
export function nodePortsOf(spec: ServiceSpec): Set<number> {
  const held = new Set<number>();
  if (hasNodePorts(spec)) for (const { nodePort } of spec.ports ?? []) if (nodePort) held.add(nodePort);
  if (hasHealthCheckPort(spec) && spec.healthCheckNodePort) held.add(spec.healthCheckNodePort);
  return held;
}

/**
 * A client that applies its original manifest again does not know the allocated node ports. They are restored by port
 * name, unless the client now uses the number for another port.
 */
export function refillNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  if (hasNodePorts(before) && hasNodePorts(spec)) {
    const given = new Map((before.ports ?? []).map((port) => [port.name ?? '', port.nodePort]));
    const used = new Set((spec.ports ?? []).map((port) => port.nodePort));
    for (const port of spec.ports ?? []) {
      const known = given.get(port.name ?? '');
      if (!port.nodePort && known && !used.has(known)) port.nodePort = known;
    }
  }
  if (hasHealthCheckPort(before) && hasHealthCheckPort(spec))
    spec.healthCheckNodePort ||= before.healthCheckNodePort;
}

export function validatePorts(spec: ServiceSpec): FieldError[] {
  const ports = spec.ports ?? [];
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') errors.push(required(path));
  const names = new Set<string>();
  ports.forEach((port, i) => {
    errors.push(...validatePort(port, index(path, i), ports.length > 1, names));
  });
  if (spec.type === 'ClusterIP')
    ports.forEach((port, i) => {
      if (port.nodePort)
        errors.push(forbidden(`${index(path, i)}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
    });
  errors.push(...validateUnique(ports));
  return errors;
}

function validatePort(port: ServicePort, at: string, nameNeeded: boolean, names: Set<string>): FieldError[] {
  const errors: FieldError[] = [];
  const { name, port: number = 0, protocol = '', appProtocol } = port;
  if (!name) {
    if (nameNeeded) errors.push(required(child(at, 'name')));
  } else {
    for (const problem of isLabel1123(name)) errors.push(invalid(child(at, 'name'), name, problem));
    if (names.has(name)) errors.push(duplicate(child(at, 'name'), name));
    names.add(name);
  }
  for (const problem of isPortNumber(number)) errors.push(invalid(child(at, 'port'), number, problem));
  if (!protocols.includes(protocol)) errors.push(notSupported(child(at, 'protocol'), protocol, protocols));
  const target = port.targetPort ?? 0;
  const problems = typeof target === 'number' ? isPortNumber(target) : isPortName(target);
  for (const problem of problems) errors.push(invalid(child(at, 'targetPort'), target, problem));
  if (appProtocol !== undefined)
    for (const problem of isQualifiedName(appProtocol))
      errors.push(invalid(child(at, 'appProtocol'), appProtocol, problem));
  return errors;
}

/** A port and a node port must be unique per protocol. */
function validateUnique(ports: readonly ServicePort[]): FieldError[] {
  const errors: FieldError[] = [];
  const nodePorts = new Set<string>();
  ports.forEach(({ protocol = '', nodePort }, i) => {
    if (!nodePort) return;
    const key = `${protocol} ${nodePort}`;
    if (nodePorts.has(key)) errors.push(duplicate(`${index(path, i)}.nodePort`, nodePort));
    nodePorts.add(key);
  });
  const numbers = new Set<string>();
  ports.forEach(({ protocol = '', port = 0 }, i) => {
    const key = `${protocol} ${port}`;
    if (numbers.has(key)) errors.push(duplicate(index(path, i), internalForm(protocol, port)));
    numbers.add(key);
  });
  return errors;
}

/** Kubernetes quotes a duplicate as a Go struct in which only the compared fields are set. */
const internalForm = (protocol: string, port: number): object => ({
  Name: '',
  Protocol: protocol,
  AppProtocol: null,
  Port: port,
  TargetPort: 0,
  NodePort: 0,
});
