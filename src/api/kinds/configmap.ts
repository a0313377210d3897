/** ConfigMap: configuration as keys and values. */
import type { ConfigMap } from '../generated/types.ts';
import { defineKind } from '../kind.ts';

export const configMap = defineKind<ConfigMap>({
  kind: 'ConfigMap',
  resource: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  namespaced: true,
});
