/** User namespaces of pods (`hostUsers: false`), which no runtime gives. */
import type { Pod } from '../../api/generated/types.ts';

/**
 * Throws for a pod that wants users of its own, in the words of a kubelet: such a pod may be root where pod security lets
 * no other be, because it is not the root of the machine. Here it would be.
 * @param runtime the name of the runtime, which is the handler of a runtime class
 */
export function refuseOwnUsers({ spec }: Pod, runtime: string): void {
  if (spec?.hostUsers !== false) return;
  const who = spec.runtimeClassName ? `RuntimeClass handler ${JSON.stringify(runtime)}` : 'runtime';
  throw new Error(
    `Failed to create pod sandbox: can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`,
  );
}
