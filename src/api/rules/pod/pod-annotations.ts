/** Pod annotations: those that the server interprets, as predecessors of fields. */
import { child, type FieldError, forbidden, invalid, key } from '../../errors/field-error.ts';
import type { ObjectMeta, PodSpec, Toleration } from '../../generated/types.ts';
import { isJsonObject } from '../../text/object.ts';
import { isRelativePath } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { appArmorPrefix as appArmor } from './app-armor.ts';
import { mirrorAnnotation as mirror } from './pod-references.ts';
import { tolerationErrors } from './toleration.ts';

const tolerations = 'scheduler.alpha.kubernetes.io/tolerations';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';

const costMax = 2 ** 31 - 1;
const costMin = -(2 ** 31);

type Annotations = ObjectMeta['annotations'];

export function* podAnnotationErrors(annotations: Annotations, spec: PodSpec, path: string): Findings {
  if (!annotations) return;
  let names: Set<string | undefined> | undefined;
  for (const name of Object.keys(annotations)) {
    const value = annotations[name]!;
    if (name === mirror && !spec.nodeName)
      yield invalid(key(path, name), value, 'must set spec.nodeName if mirror pod annotation is set');
    else if (name === tolerations && value) yield* oldTolerationErrors(value, path);
    else if (name === deletionCost && !isCost(value))
      yield invalid(key(path, name), value, 'must be a 32bit integer');
    else if (name === seccompPod || name.startsWith(seccompContainer))
      yield* seccompErrors(value, child(path, name));
    else if (name.startsWith(appArmor)) {
      const container = name.slice(appArmor.length);
      names ??= new Set([...(spec.initContainers ?? []), ...(spec.containers ?? [])].map((one) => one.name));
      if (!names.has(container)) yield invalid(key(path, name), container, 'container not found');
      if (!isAppArmor(value))
        yield invalid(key(path, name), value, `invalid AppArmor profile name: "${value}"`);
    }
  }
}

/**
 * What clients may neither add, change nor remove: the mark of a mirror pod, which represents a static pod of a node, and
 * AppArmor profiles, which are read when the pod is created.
 */
export function* podAnnotationChangeErrors(
  annotations: Annotations = {},
  old: Annotations = {},
  path: string,
): Findings {
  for (const name of Object.keys(old)) {
    if (Object.hasOwn(annotations, name) && annotations[name] === old[name]) continue;
    const what = fixedAnnotation(name);
    if (what) yield forbidden(key(path, name), `may not remove or update ${what}`);
  }
  for (const name of Object.keys(annotations)) {
    if (Object.hasOwn(old, name)) continue;
    const what = fixedAnnotation(name);
    if (what) yield forbidden(key(path, name), `may not add ${what}`);
  }
}

const fixedAnnotation = (name: string): string | undefined => {
  if (name === mirror) return 'mirror pod annotation';
  return name.startsWith(appArmor) ? 'AppArmor annotations' : undefined;
};

/** A whole number without a plus sign and leading zeros. */
const isCost = (text: string): boolean =>
  text.length <= 11 && /^(?:0|-?[1-9]\d*)$/.test(text) && Number(text) >= costMin && Number(text) <= costMax;

function* oldTolerationErrors(text: string, path: string): Findings {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    return yield invalid(path, tolerations, (error as Error).message.slice(0, 200));
  }
  if (!Array.isArray(list) || !list.every(isToleration)) return yield unreadable(path);
  yield* tolerationErrors(list, child(path, tolerations));
}

const unreadable = (path: string): FieldError =>
  invalid(path, tolerations, 'json: cannot unmarshal value into Go value of type []v1.Toleration');

const isToleration = (value: unknown): value is Toleration =>
  isJsonObject(value) &&
  ['key', 'operator', 'value', 'effect'].every((name) =>
    ['string', 'undefined'].includes(typeof value[name]),
  ) &&
  ['number', 'undefined'].includes(typeof value['tolerationSeconds']);

function* seccompErrors(value: string, path: string): Findings {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(value)) return;
  if (value.startsWith('localhost/'))
    yield* problemsOf(path, value, isRelativePath(value.slice('localhost/'.length)));
  else yield invalid(path, value, 'must be a valid seccomp profile');
}

const isAppArmor = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value === 'unconfined' || value.startsWith('localhost/');
