/**
 * Inputs whose length a client chooses: one of each shape that the API has. The greater of the two lengths that are tried
 * is near what a request may be at most.
 */
import { definitions } from './inputs/definitions.ts';
import { heads } from './inputs/heads.ts';
import { kinds } from './inputs/kinds.ts';
import { metadata } from './inputs/metadata.ts';
import { patches } from './inputs/patches.ts';
import { pods } from './inputs/pods.ts';
import { replacements } from './inputs/replacements.ts';
import type { ListInput } from './inputs/shapes.ts';

export const inputs: readonly ListInput[] = [
  ...heads,
  ...metadata,
  ...pods,
  ...kinds,
  ...definitions,
  ...patches,
  ...replacements,
];
