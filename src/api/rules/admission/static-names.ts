/** Names of admission configurations that belong to files beside kube-apiserver. */
import type { ObjectMeta } from '../../generated/types.ts';

const ending = '.static.k8s.io';

export const staticNameWarnings = ({ metadata }: { readonly metadata: ObjectMeta }): string[] =>
  metadata.name?.endsWith(ending)
    ? [
        `metadata.name: names ending with "${ending}" are reserved for static manifest-based configurations and cannot be managed via the API`,
      ]
    : [];
