/** Rules of network policies: peers and ports. */

import { child, forbidden, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  IPBlock,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../generated/types.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { isCIDR, parseCIDR, rangeWarning } from '../../values/addresses.ts';
import { isPortName, isPortNumber } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const protocols = ['TCP', 'UDP', 'SCTP'];
const types = ['Ingress', 'Egress'];

interface Rule {
  readonly path: string;
  readonly ports: readonly NetworkPolicyPort[];
  readonly peers: readonly NetworkPolicyPeer[];
  /** What the list of peers is called. */
  readonly side: 'from' | 'to';
}

function* rulesOf({ ingress = [], egress = [] }: NetworkPolicySpec): Generator<Rule> {
  for (const [i, { ports = [], from = [] }] of ingress.entries())
    yield { path: index('spec.ingress', i), ports, peers: from, side: 'from' };
  for (const [i, { ports = [], to = [] }] of egress.entries())
    yield { path: index('spec.egress', i), ports, peers: to, side: 'to' };
}

/** Every range, with its path. */
function* rangesOf(spec: NetworkPolicySpec): Generator<[path: string, range: string]> {
  for (const { path, peers, side } of rulesOf(spec))
    for (const [i, { ipBlock }] of peers.entries()) {
      const block = child(index(child(path, side), i), 'ipBlock');
      if (ipBlock?.cidr) yield [child(block, 'cidr'), ipBlock.cidr];
      for (const [j, range] of (ipBlock?.except ?? []).entries())
        yield [index(child(block, 'except'), j), range];
    }
}

export function* policyErrors(spec: NetworkPolicySpec, old: NetworkPolicySpec | undefined): Findings {
  // Ranges that an older server accepted stay valid.
  const kept = new Set([...rangesOf(old ?? {})].map(([, range]) => range));
  yield* validateLabelSelectorObject(spec.podSelector as LabelSelectorObject, 'spec.podSelector');
  for (const { path, ports, peers, side } of rulesOf(spec)) {
    for (const [i, port] of ports.entries()) yield* portErrors(port, index(child(path, 'ports'), i));
    for (const [i, peer] of peers.entries()) yield* peerErrors(peer, index(child(path, side), i), kept);
  }
  const { policyTypes = [] } = spec;
  if (policyTypes.length > types.length)
    return yield invalid('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes');
  for (const [i, type] of policyTypes.entries())
    if (!types.includes(type)) yield notSupported(index('spec.policyTypes', i), type, types);
}

function* portErrors({ protocol, port, endPort }: NetworkPolicyPort, path: string): Findings {
  const [portPath, endPath] = [child(path, 'port'), child(path, 'endPort')];
  if (protocol !== undefined && !protocols.includes(protocol))
    yield notSupported(child(path, 'protocol'), protocol, protocols);
  if (typeof port === 'number') {
    yield* problemsOf(portPath, port, isPortNumber(port));
    if (endPort === undefined) return;
    if (endPort < port) yield invalid(endPath, port, 'must be greater than or equal to `port`');
    yield* problemsOf(endPath, endPort, isPortNumber(endPort));
  } else {
    if (endPort !== undefined)
      yield invalid(
        endPath,
        endPort,
        `may not be specified when \`port\` is ${port === undefined ? 'not specified' : 'non-numeric'}`,
      );
    if (port !== undefined) yield* problemsOf(portPath, port, isPortName(port));
  }
}

function* peerErrors(peer: NetworkPolicyPeer, path: string, kept: ReadonlySet<string>): Findings {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  for (const [name, selector] of Object.entries({ podSelector, namespaceSelector }))
    if (selector) yield* validateLabelSelectorObject(selector as LabelSelectorObject, child(path, name));
  if (ipBlock) yield* blockErrors(ipBlock, child(path, 'ipBlock'), kept);
  if (!podSelector && !namespaceSelector && !ipBlock) yield required(path, 'must specify a peer');
  else if (ipBlock && (podSelector || namespaceSelector))
    yield forbidden(path, 'may not specify both ipBlock and another peer');
}

function* blockErrors({ cidr, except = [] }: IPBlock, path: string, kept: ReadonlySet<string>): Findings {
  const cidrPath = child(path, 'cidr');
  if (!cidr) return yield required(cidrPath);
  if (!kept.has(cidr)) yield* problemsOf(cidrPath, cidr, isCIDR(cidr));
  const range = except.length ? parseCIDR(cidr) : undefined;
  if (!range) return;
  for (const [i, text] of except.entries()) {
    const entry = index(child(path, 'except'), i);
    if (!kept.has(text)) yield* problemsOf(entry, text, isCIDR(text));
    const hole = parseCIDR(text);
    if (!hole) continue;
    const inside = hole.family === range.family && hole.value >= range.first && hole.value <= range.last;
    if (!inside || range.prefixLength >= hole.prefixLength)
      yield invalid(entry, text, 'must be a strict subset of `cidr`');
  }
}

export const rangeWarnings = (spec: NetworkPolicySpec): string[] =>
  [...rangesOf(spec)].flatMap(([path, range]) => {
    const warning = rangeWarning(range);
    return warning ? [`${path}: ${warning}`] : [];
  });
