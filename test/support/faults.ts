/** Which answers are faults of the server: every 500, except for those that kube-apiserver gives to the same request. */
import type { Reply } from './http.ts';

/** The words of these: Kubernetes has no code of its own for them, and gives no reason. */
const answersOfKubernetes: readonly RegExp[] = [
  /^failed to (?:create typed patch object|convert new object) \(/,
  /^resourceVersion(?:: Invalid value: | should not be set on objects to be created$)/,
  /^strconv\.ParseUint: parsing /,
  /^no preferred addresses found; known addresses: /,
  /^(?:pod .* not found|pod .* does not have a host assigned)$/,
  /^error dialing backend: /,
  // Of strategic merge patches.
  /^list element types are not identical: /,
  /does not contain declared merge key: /,
  /^cannot merge lists without merge key for /,
  /^expected a .*, but received a /,
];

export function isFault({ status, body, text }: Reply): boolean {
  if (status < 500 || status === 503 || status === 504) return false;
  const { reason, message = text } = body ?? {};
  return reason === 'InternalError' || !answersOfKubernetes.some((words) => words.test(message));
}
