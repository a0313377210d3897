/** All made-up kinds. */
import { certificates } from './certificates.ts';
import { gateways } from './gateways.ts';
import { httproutes } from './httproutes.ts';
import { issuers } from './issuers.ts';
import { kustomizations } from './kustomizations.ts';
import { nodepools } from './nodepools.ts';
import { postgresclusters } from './postgresclusters.ts';
import { rollouts } from './rollouts.ts';
import type { MadeUpKind } from './schemawords.ts';
import { servicemonitors } from './servicemonitors.ts';
import { virtualservices } from './virtualservices.ts';

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
