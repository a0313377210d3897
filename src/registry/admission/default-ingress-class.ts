/** DefaultIngressClass: a new Ingress that names no class gets the default one. */

import type { IngressClass, IngressV1 } from '../../api/generated/types.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import { ingressClassAnnotation } from '../../api/rules/service/ingress-class-name.ts';
import { isDefaultIngressClass } from '../../api/rules/storage/default-class.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import { subresourceOf } from '../target.ts';
import { DefaultClasses } from './default-classes.ts';

const classes = new DefaultClasses('networking.k8s.io/ingressclasses', (object) =>
  isDefaultIngressClass(object as IngressClass),
);

const ids: readonly ResourceId[] = ['networking.k8s.io/ingresses', 'extensions/ingresses'];

export const defaultIngressClass: AdmissionPlugin = {
  name: 'DefaultIngressClass',
  kinds: ids,

  mutate(registry, { operation, target: { part }, object }) {
    if (operation !== 'create' || subresourceOf(part)) return;
    const ingress = object as IngressV1;
    if (ingress.spec?.ingressClassName !== undefined) return;
    if (ingress.metadata.annotations?.[ingressClassAnnotation] !== undefined) return;
    const name = classes.nameIn(registry);
    if (name !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: name };
  },
};
