/** What is not well about the cluster itself: nodes, storage, namespaces, quotas, extensions, certificates, own kinds. */
import { compareQuantities, parseQuantity, sign } from '../../api/values/quantity.ts';
import {
  type Any,
  conditionOf,
  conditionsOf,
  deletionFindings,
  type Examine,
  type Finding,
  fromCondition,
  short,
  why,
} from './finding.ts';

const bindMs = 30_000;
const signMs = 60_000;

export const nodeFindings: Examine = (node) =>
  conditionsOf(node).flatMap((condition): Finding[] => {
    const { type, status } = condition;
    if (type === 'Ready') {
      if (status === 'True') return [];
      return [
        fromCondition(condition, status === 'Unknown' ? 'the node does not report' : 'the node is not ready'),
      ];
    }
    const isBad = type.endsWith('Pressure') || type === 'NetworkUnavailable';
    return isBad && status === 'True' ? [fromCondition(condition, type)] : [];
  });

export const claimFindings: Examine = (claim) => {
  if (claim.metadata.deletionTimestamp) return deletionFindings(claim);
  const { phase } = claim.status ?? {};
  const since = claim.metadata.creationTimestamp ?? '';
  if (phase === 'Lost') {
    const { volumeName } = claim.spec ?? {};
    const text = `the volume ${volumeName ? `${volumeName} ` : ''}of the claim is lost`;
    return [{ cause: text, text, severity: 'error', since }];
  }
  if (phase === 'Pending') {
    const text = 'the claim has no volume';
    return [
      {
        cause: text,
        text,
        severity: 'warning',
        since,
        afterMs: (Date.parse(since) || 0) + bindMs,
        isExplainedByEvents: true,
        events: { hasNormal: true, meant: 'WaitForFirstConsumer' },
      },
    ];
  }
  return conditionsOf(claim)
    .filter(({ type, status }) => status === 'True' && type.endsWith('ResizeError'))
    .map((condition) => fromCondition(condition, 'the volume cannot be resized'));
};

export const volumeFindings: Examine = (volume) => {
  if (volume.metadata.deletionTimestamp) return deletionFindings(volume);
  const { phase, reason, message } = volume.status ?? {};
  if (phase !== 'Failed') return [];
  const text = `the volume has failed: ${why(reason, message)}`;
  return [{ cause: text, text, severity: 'error', since: volume.status.lastPhaseTransitionTime ?? '' }];
};

export const namespaceFindings: Examine = (namespace) => {
  const [stuck] = deletionFindings(namespace);
  if (!stuck) return [];
  const left = conditionsOf(namespace).filter(({ status }) => status === 'True');
  const text = ['deletion does not end', ...left.map(({ message }) => short(message))].join(': ');
  return [{ ...stuck, cause: text, text, isExplainedByEvents: false }];
};

export const quotaFindings: Examine = (quota) => {
  const { hard = {}, used = {} } = quota.status ?? {};
  const full = Object.keys(hard).filter((name) => isUsedUp(used[name], hard[name]));
  if (full.length === 0) return [];
  const text = `the quota is used up: ${full.map((name) => `${name} ${used[name]} of ${hard[name]}`).join(', ')}`;
  return [{ cause: text, text, severity: 'warning', since: '' }];
};

/** A bound of zero is meant to refuse everything. */
function isUsedUp(used: unknown, hard: unknown): boolean {
  try {
    const bound = parseQuantity(String(hard));
    return sign(bound) > 0 && compareQuantities(parseQuantity(String(used ?? '0')), bound) >= 0;
  } catch {
    return false;
  }
}

export const apiServiceFindings: Examine = (service) => {
  const available = conditionOf(service, 'Available');
  return available?.status === 'False' ? [fromCondition(available, 'the API is not available')] : [];
};

const definitionTypes: Readonly<Record<string, readonly [bad: string, text: string]>> = {
  NamesAccepted: ['False', 'the names of the kind are taken'],
  NonStructuralSchema: ['True', 'the schema is not structural'],
  KubernetesAPIApprovalPolicyConformant: ['False', 'the group is protected'],
};

export const definitionFindings: Examine = (definition) => [
  ...deletionFindings(definition),
  ...conditionsOf(definition).flatMap((condition) => {
    const [bad, text] = definitionTypes[condition.type] ?? [];
    return text && condition.status === bad ? [fromCondition(condition, text)] : [];
  }),
];

export const signingFindings: Examine = (request) => {
  const failed = conditionOf(request, 'Failed');
  if (failed?.status === 'True') return [fromCondition(failed, 'the certificate was not signed')];
  const approved = conditionOf(request, 'Approved');
  if (approved?.status !== 'True' || request.status?.certificate) return [];
  const since = approved.lastTransitionTime ?? '';
  const text = `approved, but the signer ${request.spec?.signerName ?? ''} has issued no certificate`;
  return [{ cause: text, text, severity: 'warning', since, afterMs: (Date.parse(since) || 0) + signMs }];
};

export const attachmentFindings: Examine = ({ status }) =>
  ['attachError', 'detachError'].flatMap((field): Finding[] => {
    const { message, time } = (status as Any)?.[field] ?? {};
    if (!message) return [];
    const text = `the volume cannot be ${field === 'attachError' ? 'attached' : 'detached'}: ${short(message)}`;
    return [{ cause: text, text, severity: 'error', since: time ?? '' }];
  });

const badWhenFalse = /^(Ready|Available|Healthy|Synced|Reconciled|Accepted|Programmed)$/;
const badWhenTrue = /(Failed|Failure|Degraded|Stalled|Error)$/;

/** Own kinds by the conditions that most of them have. */
export const customFindings: Examine = (object) => {
  if (object.metadata.deletionTimestamp) return deletionFindings(object);
  const bad = conditionsOf(object).find(
    ({ type, status }) =>
      (badWhenFalse.test(type) && status === 'False') || (badWhenTrue.test(type) && status === 'True'),
  );
  if (!bad) return [];
  const text = badWhenTrue.test(bad.type) ? bad.type : `not ${bad.type.toLowerCase()}`;
  return [fromCondition(bad, text, { severity: 'warning' })];
};
