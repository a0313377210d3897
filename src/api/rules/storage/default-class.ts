/** Default classes: the one that objects get which name none. An annotation marks it. */
import type { IngressClass, StorageClass } from '../../generated/types.ts';
import type { ApiObject } from '../../text/object.ts';

const storageAnnotation = 'storageclass.kubernetes.io/is-default-class';
const formerStorageAnnotation = 'storageclass.beta.kubernetes.io/is-default-class';
const ingressAnnotation = 'ingressclass.kubernetes.io/is-default-class';

const isMarked = ({ metadata }: ApiObject, annotation: string): boolean =>
  metadata.annotations?.[annotation] === 'true';

export const isDefaultStorageClass = (storage: StorageClass): boolean =>
  isMarked(storage, storageAnnotation) || isMarked(storage, formerStorageAnnotation);

export const isDefaultIngressClass = (ingress: IngressClass): boolean => isMarked(ingress, ingressAnnotation);
