/** All made-up kinds. */
import { certificates } from './certificates.ts';
import { gateways } from './gateways.ts';
import { httproutes } from './http-routes.ts';
import { issuers } from './issuers.ts';
import { kustomizations } from './kustomizations.ts';
import { nodepools } from './node-pools.ts';
import { postgresclusters } from './postgres-clusters.ts';
import { rollouts } from './rollouts.ts';
import type { MadeUpKind } from './schema-words.ts';
import { servicemonitors } from './service-monitors.ts';
import { virtualservices } from './virtual-services.ts';

export const madeUpKinds: readonly MadeUpKind[] = [
  certificates,
  issuers,
  rollouts,
  postgresclusters,
  gateways,
  httproutes,
  servicemonitors,
  kustomizations,
  nodepools,
  virtualservices,
];
