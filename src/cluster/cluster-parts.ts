import type { RunningController } from '../controllers/shared/controller.ts';
import type { Definitions } from '../extensions/definitions/definitions.ts';
import type { Registry } from '../registry/registry.ts';
import type { LocalNodes } from './node/local-nodes.ts';

/** The parts of a started cluster that the test kit uses. */
export interface ClusterParts {
  readonly registry: Registry;
  readonly definitions: Definitions;
  readonly nodes: LocalNodes;
  /** The running controllers; undefined while none run. */
  controllers(): RunningController | undefined;
}
