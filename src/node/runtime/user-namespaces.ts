/** User namespaces of pods (`hostUsers: false`), which no runtime supports. */
import type { Pod } from '../../api/generated/types.ts';

/**
 * Throws for a pod that wants a user namespace, in the words of a kubelet. Pod security allows such a pod to be root,
 * because it would not be root of the machine; without the namespace it would be.
 * @param runtime the name of the runtime, which is the handler of a runtime class
 */
export function refuseOwnUsers({ spec }: Pod, runtime: string): void {
  if (spec?.hostUsers !== false) return;
  const who = spec.runtimeClassName ? `RuntimeClass handler ${JSON.stringify(runtime)}` : 'runtime';
  throw new Error(
    `Failed to create pod sandbox: can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`,
  );
}
