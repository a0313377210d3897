/** The class of an Ingress: a field, and an annotation that was there before it. */
import type { ApiObject } from '../../text/object.ts';

export const ingressClassAnnotation = 'kubernetes.io/ingress.class';

interface Classed extends ApiObject {
  spec?: { ingressClassName?: string };
}

/** For a new Ingress that has the annotation alone. */
export const ingressClassWarnings = ({ metadata, spec }: Classed, old: ApiObject | undefined): string[] =>
  !old && metadata.annotations?.[ingressClassAnnotation] !== undefined && spec?.ingressClassName === undefined
    ? [`annotation "${ingressClassAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
    : [];
