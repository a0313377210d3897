/** Which ingresses this controller serves, in which order, and which of their hosts have TLS. */
import type { Ingress, IngressClass } from '../api/generated/types.ts';

/** How IngressClasses name this controller. */
const controllerName = 'wherry.dev/ingress';
/** The class that is made for this controller. Its ingresses are served even without the object. */
const ownClass = 'wherry';
const classAnnotation = 'kubernetes.io/ingress.class';
const redirectAnnotation = 'ingress.kubernetes.io/ssl-redirect';

export const ownIngressClass = (): IngressClass => ({
  metadata: { name: ownClass },
  spec: { controller: controllerName },
});

/**
 * Ingresses of this controller's classes are served, and those without a class. Before the `ingressClassName` field, the
 * class was an annotation.
 */
export function isServed(
  { metadata, spec }: Ingress,
  classOf: (name: string) => IngressClass | undefined,
): boolean {
  const named = spec?.ingressClassName || metadata.annotations?.[classAnnotation];
  return !named || named === ownClass || classOf(named)?.spec?.controller === controllerName;
}

/** Oldest first, because the older ingress wins a conflict. Timestamps have seconds only, so names break ties. */
export const byAge = (ingresses: Iterable<Ingress>): Ingress[] =>
  [...ingresses]
    .map((ingress) => ({ ingress, key: ageKey(ingress) }))
    .sort((a, b) => compare(a.key, b.key))
    .map(({ ingress }) => ingress);

const ageKey = ({ metadata }: Ingress): string =>
  `${metadata.creationTimestamp ?? ''}\n${metadata.namespace}\n${metadata.name}`;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Whether a change affects routing; status changes, which this controller writes itself, do not. */
export function isRerouted(now: Ingress, before: Ingress): boolean {
  const { metadata: a } = now;
  const { metadata: b } = before;
  return (
    a.generation !== b.generation ||
    JSON.stringify(a.annotations ?? {}) !== JSON.stringify(b.annotations ?? {})
  );
}

/** HTTP is redirected to HTTPS, unless an annotation says otherwise. */
export const wantsRedirect = ({ metadata }: Ingress): boolean =>
  metadata.annotations?.[redirectAnnotation] !== 'false';

export interface TlsEntry {
  /** As in rules; `''` is any host. */
  readonly hosts: readonly string[];
  readonly secretName: string;
}

/**
 * The certificates an ingress names. An entry without hosts applies to all hosts of the ingress: such entries share one
 * list, which is not to be gone through for each of them.
 */
export function tlsEntries({ spec }: Ingress): TlsEntry[] {
  const own = (spec?.rules ?? []).map(({ host }) => host ?? '');
  return (spec?.tls ?? []).flatMap(({ hosts = [], secretName }) =>
    secretName ? [{ hosts: hosts.length ? hosts : own.length ? own : [''], secretName }] : [],
  );
}

/** A problem with an ingress, reported as an event. */
export interface Problem {
  readonly ingress: Ingress;
  readonly reason: string;
  readonly message: string;
}

/** Problems of one ingress that are kept: it may have tens of thousands, and no more events would be written. */
export const problemsMax = 25;
