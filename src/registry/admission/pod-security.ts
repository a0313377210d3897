/**
 * PodSecurity: refuses pods that the policy of their namespace forbids, warns of them, and notes them for the audit log.
 * Templates of pods are only warned of and noted. Namespaces without labels for it cost one lookup.
 */
import { forbidden, invalid } from '../../api/errors/errors.ts';
import type { Namespace, ObjectMeta, Pod, PodSpec, PodTemplateSpec } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { Violation } from '../../api/rules/pod-security/check.ts';
import {
  isPrivileged,
  isStricter,
  type LabelledPolicy,
  labelPrefix,
  modes,
  type Policy,
  policyOf,
  policyText,
} from '../../api/rules/pod-security/policy.ts';
import { violations, violationsText } from '../../api/rules/pod-security/standard.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import type { Admission, AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import type { PodSecuritySettings } from './pod-security-settings.ts';
import { existingPodWarnings } from './pod-security-survey.ts';

const labelMark = Buffer.from(labelPrefix);

/** Whether a namespace may have labels for it, found by a search of its JSON without parsing it. */
const labelled = new Memo(({ document }: Entry) => document.includes(labelMark));

type TemplateReader = (object: ApiObject) => PodTemplateSpec | undefined;

const specTemplate: TemplateReader = (object) =>
  (object.spec as { template?: PodTemplateSpec } | undefined)?.template;
const jobTemplate: TemplateReader = (object) =>
  (object.spec as { jobTemplate?: { spec?: { template?: PodTemplateSpec } } } | undefined)?.jobTemplate?.spec
    ?.template;
const ownTemplate: TemplateReader = (object) => (object as { template?: PodTemplateSpec }).template;

/** Kinds that pods are made from, by where they keep the template. */
const templateReaders: ReadonlyMap<Kind['id'], TemplateReader> = new Map([
  ['core/replicationcontrollers', specTemplate],
  ['core/podtemplates', ownTemplate],
  ['apps/deployments', specTemplate],
  ['apps/replicasets', specTemplate],
  ['apps/statefulsets', specTemplate],
  ['apps/daemonsets', specTemplate],
  ['extensions/jobs', specTemplate],
  ['batch/jobs', specTemplate],
  ['batch/cronjobs', jobTemplate],
]);

/** The settings of the server, and the registry. */
interface Scene {
  readonly settings: PodSecuritySettings;
  readonly registry: Registry;
}

export const podSecurity = (settings: PodSecuritySettings): AdmissionPlugin => ({
  name: 'PodSecurity',
  kinds: ['core/namespaces', 'core/pods', ...templateReaders.keys()],

  validate(registry, admission) {
    const { operation, target } = admission;
    if (operation === 'delete') return;
    const scene = { settings, registry };
    if (target.kind.id === 'core/namespaces') return checkNamespace(scene, admission);
    if (target.kind.id === 'core/pods') return checkPod(scene, admission);
    const read = templateReaders.get(target.kind.id);
    if (read && target.part === 'main') checkTemplate(scene, admission, read);
  },
});

/** Parts of a pod through which its spec can change. */
const podParts: ReadonlySet<Target['part']> = new Set(['main', 'ephemeralcontainers', 'resize']);

function checkPod(scene: Scene, { request, target, operation, object, old }: Admission): void {
  if (!podParts.has(target.part)) return;
  const found = policyFor(scene, request, target.namespace);
  if (!found || (found.errors.length === 0 && isPrivileged(found.policy))) return;
  const pod = object as Pod;
  if (operation === 'update' && !changesWhatRuns(pod, old as Pod)) return;
  evaluate(scene.settings, request, target, found, pod.metadata, pod.spec, true);
}

function checkTemplate(scene: Scene, { request, target, object }: Admission, read: TemplateReader): void {
  const found = policyFor(scene, request, target.namespace);
  if (!found) return;
  const { audit, warn } = found.policy;
  if (found.errors.length === 0 && audit.level === 'privileged' && warn.level === 'privileged') return;
  const template = read(object!);
  if (template) evaluate(scene.settings, request, target, found, template.metadata, template.spec, false);
}

/** The policy of a namespace; undefined when it has no policy, or when the namespace or the user is exempt. */
function policyFor(
  { settings, registry }: Scene,
  request: Request,
  namespace: string,
): LabelledPolicy | undefined {
  const { defaults, exemptNamespaces, exemptUsers } = settings;
  const entry = registry.view.collection('core/namespaces').get('', namespace);
  if (exemptNamespaces.has(namespace)) return exempt(request, 'namespace');
  if (exemptUsers.has(request.user.name)) return exempt(request, 'user');
  if (!entry || (!labelled.of(entry) && isPrivileged(defaults))) return undefined;
  return policyOf(entry.labels ?? {}, defaults);
}

function exempt(request: Request, why: 'user' | 'namespace' | 'runtimeClass'): undefined {
  request.annotate(`${labelPrefix}exempt`, why);
}

function evaluate(
  { exemptRuntimeClasses }: PodSecuritySettings,
  request: Request,
  { kind, name }: Target,
  { policy, errors }: LabelledPolicy,
  metadata: ObjectMeta | undefined,
  spec: PodSpec | undefined,
  isEnforced: boolean,
): void {
  if (exemptRuntimeClasses.has(spec?.runtimeClassName ?? '')) return exempt(request, 'runtimeClass');
  if (errors.length)
    request.annotate(
      `${labelPrefix}error`,
      `Failed to parse policy: ${errors.map(({ field, message }) => `${field}: ${message}`).join(', ')}`,
    );
  /** Modes often have the same policy. */
  const results = new Map<string, Violation[]>();
  const found = (mode: keyof Policy): Violation[] => {
    const text = policyText(policy[mode]);
    const result = results.get(text) ?? violations(policy[mode], metadata, spec);
    results.set(text, result);
    return result;
  };
  const told = (mode: keyof Policy): string =>
    `would violate PodSecurity ${JSON.stringify(policyText(policy[mode]))}: ${violationsText(found(mode))}`;
  if (isEnforced) request.annotate(`${labelPrefix}enforce-policy`, policyText(policy.enforce));
  if (found('audit').length) request.annotate(`${labelPrefix}audit-violations`, told('audit'));
  if (isEnforced && found('enforce').length)
    throw forbidden(
      kind,
      name,
      `violates PodSecurity ${JSON.stringify(policyText(policy.enforce))}: ${violationsText(found('enforce'))}`,
    );
  if (found('warn').length) warn(request, told('warn'));
}

/** Adds a warning once, because an update may be tried several times. */
function warn({ warnings }: Request, text: string): void {
  if (!warnings.includes(text)) warnings.push(text);
}

/**
 * Whether an update changes what runs. Other updates of a running pod stay allowed when its namespace has become
 * stricter.
 */
function changesWhatRuns(pod: Pod, old: Pod): boolean {
  const names = ['containers', 'initContainers'] as const;
  for (const name of names) {
    const now = pod.spec?.[name] ?? [];
    const before = old.spec?.[name] ?? [];
    if (now.length !== before.length) return true;
    if (now.some(({ image }, i) => image !== before[i]!.image)) return true;
  }
  const known = new Map((old.spec?.ephemeralContainers ?? []).map(({ name, image }) => [name, image]));
  return (pod.spec?.ephemeralContainers ?? []).some(
    ({ name, image }) => !known.has(name) || known.get(name) !== image,
  );
}

/** Refuses invalid labels, and warns of existing pods that violate a stricter policy. */
function checkNamespace(
  { settings, registry }: Scene,
  { request, target: { kind, name, part }, object, old }: Admission,
): void | Promise<void> {
  if (part !== 'main') return;
  const { defaults, exemptNamespaces } = settings;
  const labels = object!.metadata.labels ?? {};
  const oldLabels = old?.metadata.labels ?? {};
  if (old && sameLabels(labels, oldLabels)) return;
  const { policy, errors } = policyOf(labels, defaults);
  const before = old && policyOf(oldLabels, defaults);
  if (errors.length && !(before && semanticEqual(errors, before.errors)))
    throw invalid(kind, name, [...errors]);
  if (exemptNamespaces.has(name)) return warnExempt(request, object as Namespace, policy, defaults);
  if (!before || !isTightened(policy, before.policy)) return;
  const { exemptRuntimeClasses } = settings;
  const asked = { namespace: name, policy: policy.enforce, exemptRuntimeClasses };
  return existingPodWarnings(registry, asked, request.deadlineMs).then((warnings) => {
    for (const text of warnings) warn(request, text);
  });
}

const sameLabels = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  modes.every((mode) =>
    [mode, `${mode}-version`].every((name) => a[labelPrefix + name] === b[labelPrefix + name]),
  );

/** Whether the enforced policy became stricter. Another version may require more, so it counts at every level. */
function isTightened({ enforce }: Policy, { enforce: before }: Policy): boolean {
  if (enforce.level === 'privileged') return false;
  return enforce.version !== before.version || isStricter(enforce.level, before.level);
}

function warnExempt(request: Request, { metadata }: Namespace, policy: Policy, defaults: Policy): void {
  if (isPrivileged(policy) || semanticEqual(policy, defaults)) return;
  const labels = metadata.labels ?? {};
  const isSet = (mode: string): boolean =>
    labels[labelPrefix + mode] !== undefined || labels[`${labelPrefix}${mode}-version`] !== undefined;
  const set = modes
    .filter((mode) => policy[mode].level !== 'privileged' && isSet(mode))
    .map((mode) => `${mode}=${policyText(policy[mode])}`);
  warn(
    request,
    `namespace ${JSON.stringify(metadata.name)} is exempt from Pod Security, and the policy (${set.join(', ')}) will be ignored`,
  );
}
