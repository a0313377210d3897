/** Which ingresses are served here, in which order, and which of their hosts have TLS. */
import type { Ingress } from '../api/generated/types.ts';

/** The class of ingresses that name this controller. Ingresses without a class are for any controller. */
const ingressClass = 'wherry';
const classAnnotation = 'kubernetes.io/ingress.class';
const redirectAnnotation = 'ingress.kubernetes.io/ssl-redirect';

/** The class was an annotation before it was a field. */
export function isServed({ metadata, spec }: Ingress): boolean {
  const named = spec?.ingressClassName || metadata.annotations?.[classAnnotation];
  return !named || named === ingressClass;
}

/** The oldest first: it keeps what a younger one asks for too. Times have seconds only, so names decide the rest. */
export const byAge = (a: Ingress, b: Ingress): number => compare(ageKey(a), ageKey(b));

const ageKey = ({ metadata }: Ingress): string =>
  `${metadata.creationTimestamp ?? ''}\n${metadata.namespace}\n${metadata.name}`;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Whether something that matters here is different: a status is written by this controller itself. */
export function isRerouted(now: Ingress, before: Ingress): boolean {
  const { metadata: a } = now;
  const { metadata: b } = before;
  return (
    a.generation !== b.generation ||
    JSON.stringify(a.annotations ?? {}) !== JSON.stringify(b.annotations ?? {})
  );
}

/** Browsers are sent from HTTP to HTTPS, unless an annotation says otherwise. */
export const wantsRedirect = ({ metadata }: Ingress): boolean =>
  metadata.annotations?.[redirectAnnotation] !== 'false';

export interface TlsEntry {
  /** As in rules; `''` is any host. */
  readonly hosts: readonly string[];
  readonly secretName: string;
}

/** The certificates an ingress names. One that is not for certain hosts is for all that the ingress has. */
export function tlsEntries({ spec }: Ingress): TlsEntry[] {
  const own = (spec?.rules ?? []).map(({ host }) => host ?? '');
  return (spec?.tls ?? []).flatMap(({ hosts = [], secretName }) =>
    secretName ? [{ hosts: hosts.length ? hosts : own.length ? own : [''], secretName }] : [],
  );
}

/** Something that keeps an ingress from doing what it says, for people to read in events. */
export interface Problem {
  readonly ingress: Ingress;
  readonly reason: string;
  readonly message: string;
}
