/** What a node says of its version. */
import { release } from '../../api/values/release.ts';

export interface NodeVersion {
  readonly kubelet: string;
  readonly kubeProxy: string;
  /** Whether nodes of this version declare their features. */
  readonly declaresFeatures: boolean;
}

export const ownVersion: NodeVersion = { kubelet: release, kubeProxy: '', declaresFeatures: true };
