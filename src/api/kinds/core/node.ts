/** Node: a machine that runs pods. */

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
import type { Node, NodeAddress, NodeStatus, Taint } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { ageCell, ageColumn, nameColumn, orNone } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { resourceValueErrors, roundResources } from '../../rules/shared/resource-name.ts';
import { isCIDR, parseCIDR, rangeWarning } from '../../values/addresses.ts';
import { isLabelValue, isQualifiedName } from '../../values/names.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const notReadyTaint: Readonly<Taint> = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
/** Begins the keys of taints that the server and its controllers put on nodes. */
const serverTaintPrefix = 'node.kubernetes.io/';
const rolePrefix = 'node-role.kubernetes.io/';
const roleLabel = 'kubernetes.io/role';

/** The identity of a taint. */
const taintId = ({ key = '', effect = '' }: Taint): string => JSON.stringify([key, effect]);

/** Kubernetes reports taint errors under the metadata, where they once were. */
function* taintErrors(taints: readonly Taint[] = []): Findings {
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const path = index('metadata.taints', i);
    const { key = '', value = '', effect = '', timeAdded = null } = taint;
    yield* problemsOf(child(path, 'key'), key, isQualifiedName(key));
    const valueProblems = isLabelValue(value);
    if (valueProblems.length) yield invalid(child(path, 'value'), value, valueProblems.join(';'));
    if (!effect) yield required(child(path, 'effect'));
    else if (!effects.includes(effect)) yield notSupported(child(path, 'effect'), effect, effects);
    if (seen.has(taintId(taint))) {
      const found = duplicate(path, { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded });
      yield { ...found, message: `${found.message}: taints must be unique by key and effect pair` };
    }
    seen.add(taintId(taint));
  }
}

function* podRangeErrors(ranges: readonly string[] = []): Findings {
  const path = 'spec.podCIDRs';
  for (const [i, range] of ranges.entries()) yield* problemsOf(index(path, i), range, isCIDR(range));
  const families = ranges.map((range) => parseCIDR(range)?.family);
  if (new Set(families).size < families.length || ranges.length > 2)
    yield invalid(path, ranges, 'may specify no more than one CIDR for each IP family');
}

/** The path has a dot before the key, as in Kubernetes. */
function* resourceErrors(status: NodeStatus = {}): Findings {
  for (const list of ['capacity', 'allocatable'] as const)
    for (const [name, quantity] of Object.entries(status[list] ?? {}))
      yield* resourceValueErrors(name, quantity, `status.${list}.${name}`);
}

function* addressErrors(addresses: readonly NodeAddress[] = []): Findings {
  const seen = new Set<string>();
  for (const [i, { type = '', address = '' }] of addresses.entries()) {
    const shown = { Type: type, Address: address };
    const id = JSON.stringify(shown);
    if (seen.has(id)) yield duplicate(index('status.addresses', i), shown);
    seen.add(id);
  }
}

function* nodeErrors({ spec, status }: Node): Findings {
  yield* taintErrors(spec?.taints);
  yield* resourceErrors(status);
  yield* podRangeErrors(spec?.podCIDRs);
}

function* statusErrors({ status }: Node): Findings {
  yield* resourceErrors(status);
  yield* addressErrors(status?.addresses);
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

function statusText({ status, spec }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const text = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  return spec?.unschedulable ? `${text},SchedulingDisabled` : text;
}

function rolesText({ metadata }: Node): string {
  const roles = new Set<string>();
  for (const [name, value] of Object.entries(metadata.labels ?? {})) {
    if (name.startsWith(rolePrefix)) roles.add(name.slice(rolePrefix.length));
    else if (name === roleLabel) roles.add(value);
  }
  roles.delete('');
  return orNone([...roles].sort().join(','));
}

const addressText = ({ status }: Node, wanted: string): string =>
  orNone(status?.addresses?.find(({ type }) => type === wanted)?.address);

const orUnknown = (text: string | undefined): string => text || '<unknown>';

export const node = defineKind<Node>({
  kind: 'Node',
  resource: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  namespaced: false,
  subresources: [status({ validate: (node) => collect(statusErrors(node)) })],
  keepStatusOnCreate: true,

  takeServerValues(node, old) {
    if (node.spec?.taints) return;
    const kept = old.spec?.taints?.filter(({ key }) => key?.startsWith(serverTaintPrefix));
    if (kept?.length) node.spec = { ...node.spec, taints: kept.map((taint) => ({ ...taint })) };
  },

  defaults({ spec, status }) {
    // The older field wins where they differ.
    if (spec?.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR];
    if (spec?.podCIDRs?.length) spec.podCIDR = spec.podCIDRs[0];
    if (status) {
      roundResources(status.capacity);
      roundResources(status.allocatable);
      status.allocatable ??= status.capacity && { ...status.capacity };
    }
  },

  prepareForCreate(node) {
    // A new node gets the not-ready taint until it has reported to be ready.
    const taints = node.spec?.taints ?? [];
    if (!taints.some((taint) => taintId(taint) === taintId(notReadyTaint)))
      node.spec = { ...node.spec, taints: [...taints, { ...notReadyTaint }] };
  },

  validate: (node) => collect(nodeErrors(node)),
  validateUpdate(node, old) {
    const errors: FieldError[] = [];
    const oldRanges = old.spec?.podCIDRs ?? [];
    if (oldRanges.length && !sameList(node.spec?.podCIDRs ?? [], oldRanges))
      errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
    if (old.spec?.providerID && node.spec?.providerID !== old.spec.providerID)
      errors.push(
        forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'),
      );
    if ((node.spec?.externalID ?? '') !== (old.spec?.externalID ?? ''))
      errors.push(forbidden('spec.externalID', 'may not be updated'));
    return errors;
  },

  warnings: ({ spec }) => [
    ...(spec?.configSource ? ['spec.configSource: the feature is removed'] : []),
    ...(spec?.externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
    ...(spec?.podCIDRs ?? []).flatMap((range, i) => {
      const warning = rangeWarning(range);
      return warning ? [`${index('spec.podCIDRs', i)}: ${warning}`] : [];
    }),
  ],

  selectableFields: { 'spec.unschedulable': (node) => String(node.spec?.unschedulable ?? false) },
  columns: [
    nameColumn,
    { name: 'Status', description: 'Whether the node is ready, and takes new pods.' },
    { name: 'Roles', description: 'What the node is for.' },
    ageColumn,
    { name: 'Version', description: 'Version of the node agent.' },
    { name: 'Internal-IP', description: 'First address inside the cluster.', wide: true },
    { name: 'External-IP', description: 'First address outside the cluster.', wide: true },
    { name: 'OS-Image', description: 'Operating system.', wide: true },
    { name: 'Kernel-Version', description: 'Kernel of the operating system.', wide: true },
    { name: 'Container-Runtime', description: 'What runs the containers.', wide: true },
  ],
  cells(node) {
    const info = node.status?.nodeInfo;
    const architecture = info?.architecture ? ` (${info.architecture})` : '';
    return [
      node.metadata.name,
      statusText(node),
      rolesText(node),
      ageCell(node),
      info?.kubeletVersion ?? '',
      addressText(node, 'InternalIP'),
      addressText(node, 'ExternalIP'),
      orUnknown(info?.osImage),
      orUnknown(info?.kernelVersion) + architecture,
      orUnknown(info?.containerRuntimeVersion),
    ];
  },
});
